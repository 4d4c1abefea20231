"""The specifications' import path for detecting questions on the screen; see `synapse.watch.questions`."""

from synapse.watch.questions import TYPES, InputPrompt, InputRequiredDetector

__all__ = ["TYPES", "InputPrompt", "InputRequiredDetector"]
