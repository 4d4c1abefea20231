"""`synapse mcp`: the agents as tools of an MCP client."""

from synapse.cli.shared.parser import Parser
from synapse.errors import SynapseError
from synapse.launch.extras import NO_MCP
from synapse.peers.fifo import is_forbidden

HELP = """\
Serve the running agents as tools to an MCP client, over standard input and output: list_agents, send_message,
ask_agent, get_task, list_questions, answer_question, interrupt_agent. The client starts this command itself;
docs/mcp.md shows how to add it to one. It needs the extra `mcp`: pip install 'a2a-synapse[mcp]'.
"""


def parser() -> Parser:
    return Parser("synapse mcp", HELP)


def main(argv: list[str]) -> int:
    parser().parse_args(argv)
    if is_forbidden():  # its event loop would wait for ever: a thread wakes it by a send() to a socket
        raise SynapseError(
            "`synapse mcp` cannot run in a sandbox that refuses every connection: let its client start it "
            "outside, or use `synapse send`, which works there."
        )
    try:
        from synapse.mcp.server import serve
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mcp"):
            raise
        raise SynapseError(NO_MCP) from error
    serve()
    return 0
