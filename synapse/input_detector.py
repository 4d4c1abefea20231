"""The specifications' import path for questions on the screen; see `synapse.watch.screen.questions`."""

from synapse.watch.screen.questions import TYPES, InputPrompt, InputRequiredDetector

__all__ = ["TYPES", "InputPrompt", "InputRequiredDetector"]
