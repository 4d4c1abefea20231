"""`synapse view`: all agents on one page in the browser."""

from __future__ import annotations

import sys

from synapse.base import paths
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser, number
from synapse.errors import SynapseError

PORT = 8090
HELP = """\
Show all agents on one page in the browser: who needs you, who works, who is idle; their terminals and their
tasks. Answer, send, type, interrupt, start and stop there. It runs until Ctrl-C.
"""
EPILOG = """\
The address that it prints lets one browser in, once. It listens on this machine only; from another one:
  ssh -L 8090:localhost:8090 HOST      then open the address that `synapse view --url` prints on HOST
"""


def parser() -> Parser:
    found = Parser("synapse view", HELP, EPILOG)
    found.add_argument(
        "--port", type=number(int, 0, 65535), default=PORT, metavar="N", help=f"default: {PORT}; 0: any"
    )
    found.add_argument("--open", action="store_true", help="open it in a browser")
    found.add_argument("--url", action="store_true", help="print a new address for the view that is running")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    running = _url_of_running()
    if options.url:
        if running is None:
            raise SynapseError("no view is running: start one with `synapse view`.")
        say(running)
        return 0
    if running is not None:
        say(f"a view is running already: {running}")
        if options.open:
            import webbrowser

            webbrowser.open(running)
        return 0
    return _serve(options.port, options.open)


def _serve(port: int, browser: bool) -> int:
    import uvloop

    from synapse.view.serve import listen, serve

    listener = listen(port)

    def tell(url: str) -> None:
        say(f"Synapse shows your agents at {url}", flush=True)
        if sys.stderr.isatty():
            say("Ctrl-C ends it; `synapse view --url` prints an address for another browser", error=True)

    uvloop.run(serve(listener, tell, browser))
    return 0


def _url_of_running() -> str | None:
    """A new address for the view that is running, if one is."""
    from synapse.errors import TargetError
    from synapse.peers.control import call
    from synapse.registry import Entry

    try:
        view: Entry = {"name": "view", "agent_id": "", "socket": paths.view_socket()}
        return str(call(view, "POST", "/", {}, timeout=5.0)["url"])
    except TargetError:
        return None
