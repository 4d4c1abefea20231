"""Executes a script as a run, and continues it after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from synapse.base import files, paths
from synapse.base.digest import sha256_hex
from synapse.errors import SynapseError, UsageError
from synapse.run import session
from synapse.run.budget import Budget
from synapse.run.journal import ENDED, STARTED, Journal, run_ids

INTERRUPTED = 130  # the exit status


@dataclass
class Order:
    """What `synapse run` was asked to do. A limit of None keeps the one of the run that is resumed."""

    script: str
    args: list[str] = field(default_factory=list)
    run_id: str = ""
    resume: bool = False
    on_question: str = "wait"
    limits: dict[str, int | None] = field(default_factory=dict)
    title: str = ""  # of a built-in script, instead of its path


def execute(order: Order) -> int:
    """Returns the exit status."""
    run_id, about = _chosen(order)
    journal = _journal(run_id, about)
    budget = Budget(**about["budget"])
    run = session.Run(
        run_id,
        journal,
        about["created_at"],
        order.script,
        about["args"],
        budget,
        order.on_question,
        talks=sys.stderr.isatty(),
    )
    again = f"synapse run --run {run_id} {paths.shortened(about['title'] or order.script)}"
    if run.talks:
        print(f"run {run_id}", file=sys.stderr)
    journal.write(STARTED, durable=False, pid=os.getpid())
    session.enter(run)
    outcome, error, status = "failed", "", 1
    try:
        status = _run_script(order.script, about["args"])
        outcome = "completed" if status == 0 else "failed"
        error = "" if status == 0 else f"the script ended with status {status}"
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the second Ctrl-C counts where the human is asked
        outcome, status = "interrupted", INTERRUPTED
        _leave(run, again)
    except SynapseError as failed:
        error, status = str(failed), failed.exit_status
        print(f"synapse: {error}", file=sys.stderr)
        print(f"resume it with `{again}`", file=sys.stderr)
    except BaseException as failed:
        error = f"{type(failed).__name__}: {failed}"
        if isinstance(failed, BrokenPipeError) and _is_output_closed():
            raise  # `synapse run … | head`: the command ends without a word
        _print_traceback(failed)
        print(f"synapse: the script has failed; what was answered is kept: `{again}`", file=sys.stderr)
    finally:
        try:
            journal.write(ENDED, durable=False, outcome=outcome, error=error)
        except SynapseError as full:
            print(f"synapse: {full}", file=sys.stderr)
        run.close()
        session.enter(None)
    return status


def _journal(run_id: str, about: dict[str, Any]) -> Journal:
    folder = os.path.join(paths.runs_dir(), run_id)
    try:
        journal = Journal(folder)
        files.replace(os.path.join(folder, "run.json"), json.dumps(about).encode())
    except OSError as error:
        raise SynapseError(
            f"{folder} cannot be written ({error.strerror}): make room, start again."
        ) from error
    return journal


def _chosen(order: Order) -> tuple[str, dict[str, Any]]:
    """The id of the run and what is known of it; a new run, or the one that is resumed."""
    try:
        with open(order.script, "rb") as file:
            digest = sha256_hex(file.read().decode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(
            f"cannot read {order.script} ({error.strerror}): name a Python file, or see `synapse run --list`."
        ) from error
    path = os.path.abspath(order.script)
    run_id = order.run_id or (_last_of(path) if order.resume else "")
    known = files.read_object(os.path.join(paths.runs_dir(), run_id, "run.json")) if run_id else {}
    if known and known.get("script") != path:
        raise UsageError(f"the run {run_id} is of {known.get('script')}: choose another id.")
    if known and order.args and order.args != known.get("args"):
        raise UsageError(
            f"the run {run_id} was started with {known.get('args')}, not {order.args}: leave them out."
        )
    if known and known.get("sha256") != digest:
        print(
            "synapse: the script has changed since; steps with the same keys keep their replies",
            file=sys.stderr,
        )
    kept = known.get("budget") or {}
    limits = {name: kept.get(name, 0) if limit is None else limit for name, limit in order.limits.items()}
    about = {
        "id": run_id or _new_id(path),
        "script": path,
        "title": order.title,
        "args": known.get("args", order.args),
        "sha256": digest,
        "created_at": known.get("created_at") or time.time(),
        "budget": asdict(Budget(**limits)),
        "working_dir": known.get("working_dir") or os.getcwd(),
    }
    return str(about["id"]), about


def _last_of(path: str) -> str:
    for run_id in run_ids():
        if files.read_object(os.path.join(paths.runs_dir(), run_id, "run.json")).get("script") == path:
            return run_id
    raise UsageError(f"there is no run of {paths.shortened(path)} to resume: leave --resume out.")


def check_id(run_id: str) -> str:
    """Raises UsageError for an id that could not be a directory or a part of an agent's name."""
    if not re.fullmatch(r"[^\W_][\w-]{0,39}", run_id):
        raise UsageError(f"{run_id!r} cannot be the id of a run: use letters, digits and -, at most 40.")
    return run_id


def _new_id(path: str) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", os.path.splitext(os.path.basename(path))[0].lower()).strip("-")
    return f"{stem[:20] or 'run'}-{os.urandom(3).hex()}"


def _run_script(path: str, args: list[str]) -> int:
    """Execute the file as `__main__`, as `python FILE.py` does."""
    main = type(sys)("__main__")
    main.__file__ = path
    argv, known = sys.argv, sys.modules.get("__main__")
    folder = os.path.dirname(os.path.abspath(path))
    sys.argv, sys.modules["__main__"] = [path, *args], main
    sys.path.insert(0, folder)
    try:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec"), main.__dict__)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    finally:
        sys.argv = argv
        sys.path.remove(folder)
        if known is not None:
            sys.modules["__main__"] = known
    return 0


def _leave(run: session.Run, again: str) -> None:
    """Ctrl-C: ask once whether what is under way goes on, if this is a terminal."""
    from synapse.run.cancel import cancel_steps, under_way

    run.abandon()  # before the question: the keyboard is wanted here, and no thread is to ask more
    run.settle()
    going = under_way(run.journal.record)
    if going and sys.stdin.isatty() and sys.stderr.isatty():
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print(f"\nunder way: {', '.join(going)}\nCancel it? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                print(*cancel_steps(run.journal), sep="\n", file=sys.stderr)
                going = []
        except KeyboardInterrupt:
            print(file=sys.stderr)
        except SynapseError as error:
            print(f"synapse: {error}", file=sys.stderr)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    if going:
        print(f"left running: {', '.join(going)}; `synapse runs cancel {run.id}` cancels it", file=sys.stderr)
    print(f"continue with `{again}`", file=sys.stderr)


def _is_output_closed() -> bool:
    import select

    look = select.poll()
    look.register(1, 0)
    return any(event & select.POLLERR for _, event in look.poll(0))


def _print_traceback(error: BaseException) -> None:
    """From the script on: what executes it is of no interest."""
    import traceback

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
