"""`synapse external`: agents elsewhere, by an alias."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from synapse.a2a_client import A2AClient, A2ATask, ExternalAgent
from synapse.base.text import for_output
from synapse.cli.leaving import elsewhere, leave
from synapse.cli.send import refuse_options
from synapse.errors import NoSuchAgent, SynapseError, UsageError
from synapse.terminal.cells import aligned

_COLUMNS = ("ALIAS", "NAME", "PROTOCOL", "LAST SEEN", "URL")
ASKS = 5  # exit status


def main(argv: list[str]) -> int:
    parser, send = _parser()
    if argv[:1] == ["send"]:
        options, unknown = send.parse_known_intermixed_args(argv[1:])
        refuse_options(unknown)
    else:
        options = parser.parse_args(argv)
    return int(options.run(A2AClient(), options))


def _parser() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Of all actions, and of `send`: only on its own may its options stand between the words."""
    parser = argparse.ArgumentParser(
        prog="synapse external",
        description="Agents elsewhere, of A2A 1.0, 0.3 or the old dialect: remember them, write to them.",
    )
    actions = parser.add_subparsers(required=True, metavar="add|list|remove|send|task|cancel")
    add = actions.add_parser(
        "add",
        help="read an agent's card and remember it",
        description="Read an agent's card and remember it.",
    )
    add.add_argument("url", help="where the agent is, such as https://agents.example/weather")
    add.add_argument("--alias", help="what to call it here (default: made of its own name)")
    add.add_argument(
        "--token-file", metavar="FILE", help="a file that only you can read; sent as Authorization: Bearer"
    )
    add.set_defaults(run=_add)
    listing = actions.add_parser(
        "list", help="the agents that are remembered", description="List the agents that are remembered."
    )
    listing.add_argument("--json", action="store_true", help="one JSON array; tokens are never in it")
    listing.add_argument("--check", action="store_true", help="read every card again, and say what is wrong")
    listing.set_defaults(run=_list)
    remove = actions.add_parser(
        "remove", help="forget an agent", description="Forget an agent, token and all."
    )
    remove.add_argument("alias")
    remove.set_defaults(run=_remove)
    send: argparse.ArgumentParser = actions.add_parser(
        "send",
        help="send a message and print the reply",
        description="Send a message and print the reply. Exit status: 1 failed, 4 takes longer, 5 asks.",
        allow_abbrev=False,
    )
    send.add_argument("alias")
    send.add_argument(
        "message", nargs="*", help="words, after -- if one begins with -; - reads them from standard input"
    )
    send.add_argument("--task", default="", metavar="ID", help="answer what this task asks")
    send.add_argument("--no-wait", action="store_true", help="do not wait for the reply")
    send.add_argument(
        "--timeout", type=float, metavar="S", help="seconds to wait (default: response_timeout)"
    )
    send.add_argument("--json", action="store_true", help="the task as one JSON object")
    send.set_defaults(run=_send)
    task = actions.add_parser(
        "task", help="what has become of a message", description="Say what has become of a message."
    )
    task.add_argument("alias")
    task.add_argument("id", help="the task's id")
    task.add_argument("--json", action="store_true", help="the task as one JSON object")
    task.set_defaults(run=_task)
    cancel = actions.add_parser(
        "cancel", help="take a message back", description="Ask the agent to cancel a task."
    )
    cancel.add_argument("alias")
    cancel.add_argument("id", help="the task's id")
    cancel.set_defaults(run=_cancel)
    return parser, send


def _add(client: A2AClient, options: argparse.Namespace) -> int:
    from synapse.launch.tokens import take_token

    token = take_token(None, options.token_file) if options.token_file else None
    agent = client.discover(options.url, options.alias, token)
    print(f"{agent.alias}: {for_output(agent.name)}, {_protocol(agent)} at {agent.endpoint}")
    if agent.note:
        print(f"synapse: {agent.alias}: {agent.note}.", file=sys.stderr)
    return 0


def _list(client: A2AClient, options: argparse.Namespace) -> int:
    said = asyncio.run(_check(client)) if options.check else {}
    agents = client.list_agents()
    if options.json:
        shown = [{**a.to_dict(), **({"check": said[a.alias]} if a.alias in said else {})} for a in agents]
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    if not agents:
        print("no agent elsewhere is known: `synapse external add URL` reads a card and remembers it")
        return 0
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for agent in agents:
        rows.append(
            (agent.alias, for_output(agent.name), _protocol(agent), agent.last_seen or "-", agent.url)
        )
    print("\n".join(aligned(rows)))
    for agent in agents:
        for words in filter(None, (agent.note, said.get(agent.alias, ""))):
            print(f"{agent.alias}: {for_output(words)}")
    return 0


async def _check(client: A2AClient) -> dict[str, str]:
    """What is wrong with each; nothing is an empty text."""

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
            f"no agent elsewhere is known as {options.alias!r}: `synapse external list` shows them."
        )
    print(f"forgot {options.alias}")
    return 0


def _send(client: A2AClient, options: argparse.Namespace) -> int:
    from synapse.config import load_settings

    if options.timeout is not None and not options.timeout > 0:
        raise UsageError("--timeout is a number of seconds above 0.")
    text = " ".join(options.message)
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("there is no message: give it as words, or - to read it from a pipe.")
    timeout = options.timeout or load_settings().response_timeout

    sent = elsewhere(client.core, options.alias, options.task)

    def on_event(kind: str, data: dict[str, object]) -> None:
        sent.task = str(data.get("task_id") or sent.task)
        if kind == "card_changed":
            print(f"synapse: {options.alias}: {for_output(str(data['note']))}.", file=sys.stderr)

    try:
        task = client.send_message(options.alias, text, not options.no_wait, timeout, on_event, options.task)
    except KeyboardInterrupt:
        return leave([sent])
    return _show(task, options)


def _task(client: A2AClient, options: argparse.Namespace) -> int:
    return _show(client.get_task(options.alias, options.id), options)


def _cancel(client: A2AClient, options: argparse.Namespace) -> int:
    task = asyncio.run(client.core.external.cancel_task(options.alias, options.id))
    print(f"{for_output(task.id)} is {for_output(task.status)}")
    return 0 if task.status == "canceled" else 1


def _show(task: A2ATask, options: argparse.Namespace) -> int:
    """The reply alone on stdout, so that pipes work."""
    if options.json:
        print(json.dumps(task.to_dict(), ensure_ascii=False, indent=2))
    elif task.text:
        print(for_output(task.text))
    if task.status in ("failed", "canceled"):
        why = (task.error or {}).get("message") or task.note or f"the task is {task.status}"
        raise SynapseError(f"{options.alias}: {for_output(str(why)).rstrip('.')}.")
    if task.asks:
        asked = for_output(str((task.prompt or {}).get("prompt") or "something"))
        print(
            f"{options.alias} asks: {asked}\nanswer it with "
            f'`synapse external send {options.alias} --task {task.id} "…"`',
            file=sys.stderr,
        )
        return ASKS
    if not task.ended:
        follow = f"`synapse external task {options.alias} {task.id}` shows what becomes of it"
        print(f"synapse: {task.status}: {follow}.", file=sys.stderr)
    return 0


def _protocol(agent: ExternalAgent) -> str:
    return "old dialect" if agent.protocol == "old" else f"A2A {agent.protocol} {agent.binding}"
