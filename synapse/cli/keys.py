"""`synapse keys`: press keys in an agent's terminal."""

import argparse

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import Parser
from synapse.errors import UsageError
from synapse.peers import control

_EPILOG = """\
Keys have the names that tmux gives them: Enter Escape Tab BTab Space BSpace Up Down Left Right Home End
PageUp PageDown DC IC F1…F12, with C- M- S- before them (C-c, M-x, S-Up). Anything else is typed as text.

  synapse keys claude 1 Enter          answer a dialog
  synapse keys codex "fix it" Enter    type a line
  synapse keys gemini -l Enter         type the word Enter
"""


def parser() -> Parser:
    found = Parser("synapse keys", "Press keys in an agent's terminal.", _EPILOG).add_agent()
    found.add_argument("-l", "--literal", action="store_true", help="type every argument as text")
    found.add_argument("keys", nargs=argparse.REMAINDER, metavar="KEY", help="key names or text")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    keys, literal = options.keys, options.literal
    if keys and keys[0] in ("-l", "--literal"):
        literal, keys = True, keys[1:]
    if keys and keys[0] == "--":
        keys = keys[1:]
    if not keys:
        raise UsageError("there are no keys to press: name them, for example `synapse keys claude Enter`.")
    entry = find_agent(options.target)
    if literal:
        import base64

        data = base64.b64encode("".join(keys).encode("utf-8", "surrogateescape")).decode()
        control.call(entry, "POST", "/terminal/raw", {"data": data})
    else:
        control.call(entry, "POST", "/terminal/keys", {"keys": keys})
    return 0
