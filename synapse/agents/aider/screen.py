"""aider on the screen: line by line, with a rule above each prompt."""

from synapse.agents.look import ErrorLine, Look, Marks

# What it does only with permission. A "no" to another question, such as to add the output of a command to the
# chat, denies nothing.
_ASKED = r"(?:Run shell commands?|Create new file|Edit the files|Allow edits to file .*)\? .*"

LOOK = Look(
    denied=(rf"(?i){_ASKED}\]: *(?:no?|d|don't|don't ask again)\s*$",),
    permitted=(rf"(?i){_ASKED}(?:\]: *(?:y|yes|a|all)|\[yes\]:)\s*$",),
    about_above=(r"Create new file\?", r"Allow edits to file ", r"Add (?:file|URL) to the chat\?"),
    # Its spinner may be left before them. Below a reply is a line with the tokens that were received.
    errors=(
        ErrorLine(r"[ ░█]*(litellm\.\w+.*|Empty response received from LLM\..*)", own=True, indented=True),
    ),
    after_error=(r"[ ░█]*(?:Retrying in|The API provider|https?://)", r"Tokens: .* sent, 0 received"),
    after_stop=(r"(?!(?:[a-z][a-z-]*)?> )",),  # what it had said follows; an echo of a prompt is the end
    reply=Marks(status=(r"Tokens: .* (?:sent|received)", r"[░█]+ +Waiting for ")),
)
