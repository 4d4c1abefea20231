"""`synapse mesh`: machines that share their agents through a NATS server."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace

from synapse.cli.shared.output import print_json, say, show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import Parser, number
from synapse.errors import SynapseError, UsageError
from synapse.peers.mesh import membership
from synapse.peers.mesh.membership import Membership
from synapse.peers.task import Json

HELP = """\
Let the agents of several machines write to each other by name (codex@box), through a NATS server with
JetStream: one that Synapse runs (serve), or one that your team has. A message to a machine that sleeps waits.
"""
EPILOG = """\
The first machine, and an invitation for a second one:
  synapse mesh serve --listen 192.168.1.10 --detach
  synapse mesh invite laptop | ssh laptop synapse mesh join -
It needs the extra `mesh`: pip install 'a2a-synapse[mesh]'. docs/mesh.md says what is promised, and to whom.
"""
SECRETS = " A secret is never an argument: for FILE, - reads standard input and env:NAME a variable."


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    return int(options.run(options))


def parser() -> Parser:
    found = Parser("synapse mesh", HELP, EPILOG)
    actions = found.add_subparsers(required=True, metavar="ACTION")

    def action(run: Callable[[argparse.Namespace], int], help: str, more: str = "") -> Parser:
        name, description = run.__name__.lstrip("_"), f"{help[0].upper()}{help[1:]}.{more}"
        made: Parser = actions.add_parser(name, help=help, description=description)
        made.set_defaults(run=run)
        return made

    serve = action(
        _serve, "run the mesh's server until Ctrl-C", " This machine joins the mesh if it is in none."
    )
    serve.add_argument("--team", metavar="NAME", help="the mesh's name (default: synapse)")
    serve.add_argument(
        "--listen", metavar="ADDRESS", help="where it listens (default: 127.0.0.1); others with TLS only"
    )
    serve.add_argument("--port", type=number(int, 1, 65535), metavar="N", help="default: 4222")
    serve.add_argument(
        "--name",
        action="append",
        metavar="HOST",
        help="how machines call it; several times (default: ADDRESS)",
    )
    serve.add_argument(
        "--storage", type=number(int, 1, 10**7), metavar="MB", help="disk space (default: 10240)"
    )
    serve.add_argument("--machine", metavar="NAME", help="the name of this machine (default: the host's)")
    serve.add_argument(
        "--detach", action="store_true", help="in the background; `kill` its process to end it"
    )
    join = action(_join, "join a mesh, with an invitation or at a server that your team has", SECRETS)
    join.add_argument(
        "source", metavar="FILE|URL", help="a file with the invitation, -, or nats://… or tls://…"
    )
    _add_server_options(join)
    join.add_argument("--machine", metavar="NAME", help="the name of this machine (default: the host's)")
    action(_leave, "leave the mesh; what waits in the mailboxes of this machine stays there")
    action(_status, "show the mesh, its machines and what waits").add_json()
    invite = action(_invite, "add a machine, and print the invitation for it, which is a secret")
    invite.add_argument("machine", help="its name: small letters, digits and -")
    invite.add_argument("--owner", metavar="USER", help="whose machine it is (default: yours)")
    revoke = action(_revoke, "remove a machine at once, with all that waits for it")
    revoke.add_argument("machine", help="its name")
    config = action(_config, "print what the administrator of a server that your team has must set", SECRETS)
    config.add_argument("machines", nargs="*", metavar="MACHINE[=OWNER]", help="the machines of the mesh")
    config.add_argument(
        "--apply", metavar="URL", help="make the streams there, with an administrator's credentials"
    )
    _add_server_options(config)
    return found


def _add_server_options(found: Parser) -> None:
    found.add_argument("--team", default="synapse", metavar="NAME", help="the mesh's name (default: synapse)")
    found.add_argument("--ca", metavar="FILE", help="the certificate of the server's authority")
    found.add_argument("--creds", metavar="FILE", help="a NATS credentials file; it stays where it is")
    found.add_argument("--nkey", metavar="FILE", help="a file with an nkey's seed")
    found.add_argument("--user", metavar="NAME", help="with --password-file")
    found.add_argument("--password-file", metavar="FILE", help="the password of --user")
    found.add_argument("--token-file", metavar="FILE", help="a token")


def _serve(options: argparse.Namespace) -> int:
    from synapse.mesh.server import process
    from synapse.mesh.server.setup import prepare

    if (pid := process.running()) is not None:
        raise SynapseError(f"this machine serves the mesh already (process {pid}): `synapse mesh status`.")
    process.find_binary()
    state = prepare(
        team=options.team,
        address=options.listen,
        port=options.port,
        names=options.name,
        storage=options.storage,
        machine=options.machine or _host_name(),
    )
    if options.detach:
        return _detach()
    asyncio.run(process.Server(state, lambda text: say(text, flush=True)).run())
    return 0


def _detach() -> int:
    from synapse.mesh.server.setup import start_in_background

    pid = start_in_background()
    say(f"the mesh is served by process {pid}; `kill {pid}` ends it")
    return 0


def _join(options: argparse.Namespace) -> int:
    from synapse.mesh.server import invitation

    known = membership.load_membership()
    if known is not None:
        raise SynapseError(
            f"this machine is {known.machine} in the mesh {known.team!r}: `synapse mesh leave` first."
        )
    if invitation.is_invitation(options.source):
        raise UsageError(
            "an invitation is a secret, and other users can read arguments: give it on standard input, "
            "with `synapse mesh join -`, or as a file."
        )
    if "://" in options.source:
        member = _server_member(options, options.source, options.machine or _host_name())
    else:
        member = invitation.read(_text_of(options.source))
        if options.machine and options.machine != member.machine:
            raise UsageError(
                f"this invitation is for {member.machine!r}: ask for one for {options.machine!r}."
            )
    from synapse.mesh.server.setup import check_joining

    asyncio.run(check_joining(member))
    member.save()
    say(f"this machine is {member.machine} in the mesh {member.team!r}; its agents take part from now on")
    return 0


def _server_member(options: argparse.Namespace, url: str, machine: str) -> Membership:
    from synapse.launch.tokens import take_secret
    from synapse.peers.mesh.names import check_name

    given = [options.creds, options.nkey, options.user, options.token_file]
    if sum(one is not None for one in given) > 1:
        raise UsageError(
            "there are several credentials: choose one of --creds, --nkey, --user and --token-file."
        )
    if bool(options.user) != bool(options.password_file):
        raise UsageError("--user and --password-file go together: give both.")
    return Membership(
        team=check_name(options.team, "team"),
        machine=check_name(machine, "machine"),
        urls=[url],
        ca=_text_of(options.ca) if options.ca else "",
        seed=take_secret(options.nkey) if options.nkey else "",
        creds=os.path.abspath(options.creds) if options.creds else "",
        user=options.user or "",
        password=take_secret(options.password_file) if options.password_file else "",
        token=take_secret(options.token_file) if options.token_file else "",
    )


def _leave(options: argparse.Namespace) -> int:
    member = membership.membership()
    membership.forget()
    say(f"this machine has left the mesh {member.team!r}; `synapse mesh revoke {member.machine}` on its "
        "server removes it for good")  # fmt: skip
    return 0


def _status(options: argparse.Namespace) -> int:
    from synapse.mesh.server.setup import describe

    found = asyncio.run(describe())
    status = show(options.json, found, _lines(found))
    return status or (1 if found["problem"] else 0)


def _lines(found: Json) -> list[str]:
    lines = []
    if served := found.get("serves"):
        lines.append(f"serves the mesh {served['team']!r}: {served['state']}, machines: {served['machines']}")
    if not found["machine"]:
        return [*lines, found["problem"]]
    lines.append(f"{found['machine']} in the mesh {found['team']!r} at {', '.join(found['urls'])}")
    if found["problem"]:
        return [*lines, found["problem"]]
    lines.append(f"connected, answers in {found['round_trip_ms']} ms; {found['waiting']} messages wait here")
    rows = [("NAME", "STATUS", "OWNER", "DIRECTORY")]
    for agent in found["agents"]:
        status = "stale" if agent["stale"] else agent["status"]
        rows.append((agent["address"], status, agent["owner"], agent["directory"]))
    return [*lines, *(Page().table(rows, flexible=(3, 0), ends=(3,), states=1) if found["agents"] else [])]


def _invite(options: argparse.Namespace) -> int:
    from synapse.mesh.server.invitation import written
    from synapse.mesh.server.setup import invite

    member, is_running = asyncio.run(invite(options.machine, options.owner))
    print_invitation = written(member)
    say(print_invitation)
    if not is_running:
        say(
            "synapse: the server is not running: the machine can join once `synapse mesh serve` runs.",
            error=True,
        )
    if sys.stdout.isatty():
        say(f"give this to {member.machine} only: `synapse mesh join -` there asks for it", error=True)
    return 0


def _revoke(options: argparse.Namespace) -> int:
    from synapse.mesh.server.setup import revoke

    is_running = asyncio.run(revoke(options.machine))
    say(f"{options.machine} is no member of the mesh any more"
        + ("" if is_running else ", from the server's next start on"))  # fmt: skip
    return 0


def _config(options: argparse.Namespace) -> int:
    from synapse.mesh.server.setup import apply, configuration

    owners = dict(_machine_and_owner(word) for word in options.machines)
    print_json(configuration(options.team, owners))
    if options.apply:
        admin = replace(_server_member(options, options.apply, "admin"), instance="admin")
        asyncio.run(apply(admin, owners))
        say("the streams are made", error=True)
    return 0


def _machine_and_owner(word: str) -> tuple[str, str]:
    from synapse.mesh.server.setup import user_name

    machine, _, owner = word.partition("=")
    return machine, owner or user_name()


def _text_of(source: str) -> str:
    if source == "-":
        if sys.stdin.isatty():
            from getpass import getpass

            return getpass("invitation (not shown): ")
        return sys.stdin.read()
    try:
        with open(source) as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {source} ({error}): name a file that you can read.") from error


def _host_name() -> str:
    name = os.uname().nodename.partition(".")[0].lower().replace("_", "-")
    return name or "machine"
