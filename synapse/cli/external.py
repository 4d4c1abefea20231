"""`synapse external`: external agents, each known by an alias."""

import argparse
import asyncio
from collections.abc import Callable

from synapse.a2a_client import A2AClient, A2ATask, Credentials, ExternalAgent
from synapse.cli.send import read_message, refuse_options
from synapse.cli.shared.interruption import Underway, leave
from synapse.cli.shared.output import print_json, say, show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import EXTERNAL, WEEK, Parser, number
from synapse.errors import NoSuchAgent, SynapseError, UsageError

HELP = "Register external agents (A2A 1.0, 0.3 or the old dialect), and send messages to them."
_COLUMNS = ("ALIAS", "NAME", "PROTOCOL", "LAST SEEN", "URL")
ASKS = 5  # exit status


def main(argv: list[str]) -> int:
    found, send = _parsers()
    if argv[:1] == ["send"]:
        options, unknown = send.parse_known_intermixed_args(argv[1:])
        refuse_options(send, unknown)
    else:
        options = found.parse_args(argv)
    return int(options.run(A2AClient(), options))


def parser() -> Parser:
    return _parsers()[0]


def _parsers() -> tuple[Parser, Parser]:
    """The parser of all actions, and that of `send`, which accepts options between words only alone."""
    found = Parser("synapse external", HELP)
    actions = found.add_subparsers(required=True, metavar="add|list|remove|send|task|cancel")

    def action(run: Callable[[A2AClient, argparse.Namespace], int], help: str, more: str = "") -> Parser:
        name, description = run.__name__.lstrip("_"), f"{help[0].upper()}{help[1:]}.{more}"
        made: Parser = actions.add_parser(name, help=help, description=description)
        made.set_defaults(run=run)
        return made

    secrets = " A secret is never an argument: for FILE, - reads standard input and env:NAME a variable."
    add = action(_add, "read an agent's card and register the agent", secrets)
    add.add_argument("url", help="the agent's address, such as https://agents.example/weather")
    add.add_argument("--alias", help="its name here (default: made from its own name)")
    add.add_argument(
        "--token-file", metavar="FILE", help="a file that only you can read; sent as Authorization: Bearer"
    )
    add.add_argument(
        "--api-key-file", metavar="FILE", help="an API key; its card says in which header it is sent"
    )
    add.add_argument(
        "--client-id", metavar="ID", help="for an agent whose card asks for OAuth2 client credentials"
    )
    add.add_argument("--client-secret-file", metavar="FILE", help="the secret of that client")
    add.add_argument(
        "--scope", action="append", default=[], help="to ask for, several times (default: those of the card)"
    )
    listing = action(_list, "list the registered agents").add_json("one JSON array; tokens are never in it")
    listing.add_argument(
        "--check", action="store_true", help="read every card again, and report what is wrong"
    )
    action(_remove, "remove an agent and its token").add_word("alias", EXTERNAL)
    send = action(
        _send, "send a message and print the reply", " Exit status: 1 failed, 4 timed out, 5 question."
    )
    send.allow_abbrev = False  # a word of the message may look like an option
    _add_message(send)
    task = action(_task, "show the state of a task, and its reply").add_word("alias", EXTERNAL)
    task.add_json("the task as one JSON object").add_argument("id", help="the task's id")
    cancel = action(_cancel, "ask the agent to cancel a task").add_word("alias", EXTERNAL)
    cancel.add_argument("id", help="the task's id")
    return found, send


def _add_message(send: Parser) -> None:
    send.add_word("alias", EXTERNAL)
    send.add_argument(
        "message", nargs="*", help="words, after -- if one begins with -; - reads them from standard input"
    )
    send.add_argument("--task", default="", metavar="ID", help="answer the question of this task")
    send.add_argument("--no-wait", action="store_true", help="do not wait for the reply")
    seconds = number(float, 0.001, WEEK)
    send.add_argument(
        "--timeout", type=seconds, metavar="S", help="seconds to wait (default: response_timeout)"
    )
    send.add_json("the task as one JSON object")


def _add(client: A2AClient, options: argparse.Namespace) -> int:
    agent = client.discover(options.url, options.alias, *_credentials(options))
    say(f"{agent.alias}: {agent.name}, {_protocol(agent)} at {agent.endpoint}")
    if agent.note:
        say(f"synapse: {agent.alias}: {agent.note}.", error=True)
    return 0


def _credentials(options: argparse.Namespace) -> tuple[str | None, Credentials | None]:
    from synapse.launch.tokens import take_secret

    given = [options.token_file, options.api_key_file, options.client_id]
    if sum(one is not None for one in given) > 1:
        raise UsageError(
            "there are several credentials: choose one of --token-file, --api-key-file and --client-id."
        )
    if bool(options.client_id) != bool(options.client_secret_file):
        raise UsageError("--client-id and --client-secret-file go together: give both.")
    if options.client_id:
        secret = take_secret(options.client_secret_file)
        scopes = tuple(options.scope)
        return None, Credentials(client_id=options.client_id, client_secret=secret, scopes=scopes)
    if options.api_key_file:
        return None, Credentials(api_key=take_secret(options.api_key_file))
    return (take_secret(options.token_file) if options.token_file else None), None


def _list(client: A2AClient, options: argparse.Namespace) -> int:
    problems = asyncio.run(_check(client)) if options.check else {}
    agents = client.list_agents()
    shown = [
        {**agent.to_dict(), **({"check": problems[agent.alias]} if agent.alias in problems else {})}
        for agent in agents
    ]
    return show(options.json, shown, _table(agents, problems))


def _table(agents: list[ExternalAgent], problems: dict[str, str]) -> list[str]:
    if not agents:
        return [
            "no external agent is registered: `synapse external add URL` reads a card and registers the agent"
        ]
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for agent in agents:
        seen = agent.last_seen or "-"
        rows.append((agent.alias, agent.name, _protocol(agent), seen, agent.url))
    notes = [
        f"{agent.alias}: {words}"
        for agent in agents
        for words in (agent.note, problems.get(agent.alias))
        if words
    ]
    return [*Page().table(rows, flexible=(4, 1)), *notes]


async def _check(client: A2AClient) -> dict[str, str]:
    async def one(alias: str) -> tuple[str, str]:
        try:
            await client.core.refresh(alias)
        except SynapseError as error:
            return alias, str(error)
        return alias, ""

    return dict(await asyncio.gather(*(one(agent.alias) for agent in client.list_agents())))


def _remove(client: A2AClient, options: argparse.Namespace) -> int:
    if not client.remove_agent(options.alias):
        raise NoSuchAgent(
            f"no external agent is registered as {options.alias!r}: `synapse external list` shows them."
        )
    say(f"forgot {options.alias}")
    return 0


def _send(client: A2AClient, options: argparse.Namespace) -> int:
    from synapse.config import load_settings

    text = read_message(options.message, None)
    timeout = options.timeout or load_settings().response_timeout
    sent = Underway(client.core.peer(options.alias), options.task)

    def on_event(kind: str, data: dict[str, object]) -> None:
        sent.note(kind, data)
        if kind == "card_changed":
            say(f"synapse: {options.alias}: {data['note']!s}.", error=True)

    try:
        task = client.send_message(options.alias, text, not options.no_wait, timeout, on_event, options.task)
    except KeyboardInterrupt:
        return leave([sent])
    return _show(client, task, options)


def _task(client: A2AClient, options: argparse.Namespace) -> int:
    return _show(client, client.get_task(options.alias, options.id), options)


def _cancel(client: A2AClient, options: argparse.Namespace) -> int:
    task = asyncio.run(client.core.peer(options.alias).cancel(options.id))
    say(f"{task.id} is {task.status}")
    return 0 if task.status == "canceled" else 1


def _show(client: A2AClient, task: A2ATask, options: argparse.Namespace) -> int:
    """Print the reply alone on standard output, and everything else on standard error."""
    commands = client.core.peer(options.alias).commands(task.id)
    if options.json:
        print_json(task.to_dict())
    elif task.text:
        say(task.text)
    if task.status in ("failed", "canceled"):
        why = (task.error or {}).get("message") or task.note or f"the task is {task.status}"
        raise SynapseError(f"{options.alias}: {str(why).rstrip('.')}.")
    if task.asks:
        asked = str((task.prompt or {}).get("prompt") or "something")
        say(f'{options.alias} asks: {asked}\nanswer it with `{commands.answers} "…"`', error=True)
        return ASKS
    if not task.ended:
        say(f"synapse: {task.status}: `{commands.shows}` shows what becomes of it.", error=True)
    return 0


def _protocol(agent: ExternalAgent) -> str:
    return "old dialect" if agent.protocol == "old" else f"A2A {agent.protocol} {agent.binding}"
