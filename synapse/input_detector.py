"""The specification's import path for questions on the screen; the code is in `synapse.watch.questions`."""

from synapse.watch.questions import TYPES, InputPrompt, InputRequiredDetector

__all__ = ["TYPES", "InputPrompt", "InputRequiredDetector"]
