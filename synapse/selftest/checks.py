"""The checks of `synapse doctor --drive`, in their order. Each returns what was seen, or raises `Differs`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from synapse.errors import SynapseError
from synapse.peers import control
from synapse.profiles.loader import clear_steps
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.selftest import advice
from synapse.selftest import script as said
from synapse.selftest.results import Differs, Stuck
from synapse.selftest.sentences import ending, short, state, unreported, wants_login, where
from synapse.selftest.trial import ENDED, PEER, Trial
from synapse.watch.screen.composer import DRAFT, EMPTY

TURN = 30.0  # seconds for a turn of the scripted model, on a busy machine
NOTICED = 0.7  # seconds after which the status must follow
QUESTIONS = 3  # of one task, at most
SEEN = 10.0  # seconds for a question to be recognised: without a report of the CLI, its screen must be still
SOON = 5.0  # seconds for the screen to show what was typed
PASTE = "\n".join(f"pasted line {n:02d}: the quick brown fox, 日本語, and some code()" for n in range(60))
DRAFT_TEXT = "half a li"
CLEARED = "to be cleared: 日本語 " + " ".join(f"word{n}" for n in range(24))  # more than one row


def start(trial: Trial) -> str:
    ready = trial.offline.ready

    def shown() -> bool:
        return ready in trial.screen

    def arrived() -> bool:
        return shown() or trial.status in (READY, INPUT_REQUIRED)

    trial.until(arrived, (trial.limit.deadline - trial.began) / 2)
    if trial.ended:
        raise _ended(trial)
    trial.until(shown, 1.0)  # the host may have seen it first
    if trial.offline.needs_login and shown():
        return "it starts, and asks for a login"
    if not shown() and trial.status == INPUT_REQUIRED:
        raise Stuck(where(trial), "It waits for something at its start, and no message can be delivered.")
    if not shown() and trial.status != READY:
        raise Stuck(
            f"not at its prompt after {trial.seconds:.0f} s: {where(trial)}",
            "No message can be delivered. If only this machine is slow, try a longer --timeout.",
        )
    if not shown():
        _not_shown(trial)
    if not trial.until(lambda: trial.status == READY, 8.0):
        raise Differs(
            f"its prompt is on the screen, and the status stays {trial.status or 'unknown'}",
            "Messages to it wait although it is idle.",
            advice.idle(trial.screen),
        )
    return f"READY after {trial.seconds:.1f} s"


def _ended(trial: Trial) -> Stuck:
    if said := wants_login(trial):
        return Stuck(
            f"it ended and wants a login: {said}",
            "It needs a login, which the made-up key of this check does not replace. Log in as it says, in "
            "your own terminal.",
        )
    return Stuck(ending(trial), "It does not start. It may be too old or damaged: install it again.")


def _not_shown(trial: Trial) -> None:
    """READY, but its prompt is not there."""
    began = time.monotonic()
    if trial.until(lambda: trial.offline.ready in trial.screen, TURN):
        raise Differs(
            f"READY {time.monotonic() - began + 1:.1f} s before its prompt was there",
            "A message sent right after the start may be lost.",
        )
    seen = trial.composer
    if seen["state"] != EMPTY or (trial.profile.composer and not seen["ruled"]):
        raise Stuck(
            f"READY, and no empty prompt: {where(trial)}", "A message would be typed into whatever it shows."
        )
    raise Differs(
        f"{trial.offline.ready!r} is not on its screen when it is READY",
        "Its prompt looks different from the measured one; what depends on its look may fail.",
    )


def short_turn(trial: Trial) -> str:
    return _turn(trial, "short", said.SHORT)


def long_turn(trial: Trial) -> str:
    return _turn(trial, "long", said.LONG)


def _turn(trial: Trial, name: str, expected: str) -> str:
    asked = len(trial.model.replies)
    task_id = trial.send(f"please #check:{name}")
    early, since = 0, 0.0  # since: when the answer was first seen under way

    def answering() -> bool:
        under_way = len(trial.model.replies) > asked and trial.model.replies[-1].finished is None
        return under_way and bool(trial.model.replies[-1].text)

    def over() -> bool:
        nonlocal early, since
        if answering():
            since = since or time.monotonic()
            ready = trial.status == READY and answering()  # it was so all the time
            early += ready and time.monotonic() - since > NOTICED
        begun = len(trial.model.replies) > asked
        return (begun and trial.model.answered) or trial.task(task_id)["state"] in ENDED

    trial.until(over, TURN)
    _reached(trial, asked, task_id)
    task = trial.until_task(task_id, seconds=TURN / 2)
    if early:
        raise Differs("READY in the middle of the answer", "The next message would cut the answer off.")
    if task["state"] != "completed":
        raise Differs(f"{state(task)}{unreported(trial)}", "Senders get no reply, though it answered.")
    first = task["artifacts"][0]
    source = str((first.get("metadata") or {}).get("source", ""))
    exact = first.get("data") == expected
    if source == "screen" and trial.profile.channel != "none":
        raise Differs(
            f"the CLI's own reports did not arrive, the reply was read from the screen{unreported(trial)}",
            "Replies with Markdown and long ones are not exact"
            + ("." if exact else ", as this one was not."),
        )
    if not exact:
        raise Differs(
            f"the reply is not what the model said ({source}): {short(first.get('data') or '')}",
            "Senders get a wrong or incomplete reply.",
        )
    if not trial.until(lambda: trial.status == READY, SOON):
        raise Differs(f"{trial.status} after its turn", "The next message waits although it is idle.")
    return f"exact ({source})"


def permission(trial: Trial) -> str:
    asked = len(trial.model.replies)
    task_id = trial.send(f"please #check:{trial.offline.asks_for}")
    done = trial.work / said.TOUCHED
    trial.until(
        lambda: (
            trial.task(task_id)["state"] not in ("submitted", "working")
            or done.exists()
            or trial.offline.asks in trial.screen
        ),
        TURN,
    )
    _reached(trial, asked, task_id)
    began = time.monotonic()
    task = trial.until_task(task_id, "input_required", *ENDED, seconds=SEEN)
    late = time.monotonic() - began
    if task["state"] != "input_required":
        _not_asked(trial, task, done.exists())
    question = _open_question(trial)
    if question is None:
        raise Differs(
            "it says that it asks, and its question cannot be read",
            "You are told that it asks, but not what: answer in its terminal.",
            advice.menu(trial.screen, trial.profile),
        )
    subject = said.COMMAND if trial.offline.asks_for == "run" else said.TOUCHED
    task = _answered_all(trial, task_id, question)
    if subject not in f"{question['subject']}\n{question['detail']}":
        raise Differs(
            f"its question is read without what it is about: {short(question['text'])}",
            "You would be asked to approve a command that you cannot see.",
        )
    if task["state"] != "completed" or not done.exists():
        raise Differs(
            f"the answer did not reach it: {state(task)}",
            "Questions can be answered only in its own terminal.",
        )
    seen = f", recognised after {late:.0f} s" if late > 3 else ""
    return f"{len(question['options'])} options, its subject, answered{seen}"


def _not_asked(trial: Trial, task: dict[str, Any], ran: bool) -> None:
    if trial.offline.asks in trial.screen:
        patch = advice.menu(trial.screen, trial.profile)
        trial.driver.type(trial.offline.accept)
        raise Differs(
            "it asks on its screen, and the question is not recognised",
            "It waits for an answer and nobody is told.",
            patch,
        )
    if ran:
        raise Differs("it ran the command without asking", "It does not ask before it runs commands.")
    raise Differs(
        f"it neither asked nor ran the command: {state(task)}", "Its permission questions are unknown."
    )


def _open_question(trial: Trial) -> dict[str, Any] | None:
    found: list[dict[str, Any]] = []

    def seen() -> bool:
        found[:] = [q for q in trial.call("GET", "/questions")["questions"] if len(q["options"]) >= 2]
        return bool(found)

    trial.until(seen, 3.0)
    if not found:
        trial.driver.type(trial.offline.accept)
    return found[0] if found else None


def _answered_all(trial: Trial, task_id: str, question: dict[str, Any]) -> dict[str, Any]:
    """The task, after its question and what it asks next: some ask what to do with a command's output."""
    answered = set()

    def is_next(each: dict[str, Any]) -> bool:
        return each["task"] == task_id and each["id"] not in answered

    for _ in range(QUESTIONS):
        _answered(trial, question)
        answered.add(question["id"])
        further: list[dict[str, Any]] = []

        def settled(further: list[dict[str, Any]] = further) -> bool:
            further[:] = filter(is_next, trial.call("GET", "/questions")["questions"])
            return bool(further) or trial.task(task_id)["state"] in ENDED

        trial.until(settled, TURN)
        if not further:
            break
        question = further[0]
    return trial.task(task_id)


def _answered(trial: Trial, question: dict[str, Any]) -> None:
    try:
        trial.call("POST", f"/questions/{question['id']}", {"answer": question["options"][0]["label"]})
    except SynapseError as error:
        trial.driver.type(trial.offline.accept)
        raise Differs(
            f"the answer was refused: {error}", "Questions can be answered only in its own terminal."
        ) from error


def interrupt(trial: Trial) -> str:
    asked = len(trial.model.replies)
    task_id = trial.send("please #check:slow")
    trial.until(
        lambda: len(trial.model.replies) > asked and trial.model.replies[-1].text.count(" ") > 2, TURN
    )
    _reached(trial, asked, task_id)
    trial.until(lambda: trial.status == PROCESSING, 2.0)
    asked_slow = [reply for reply in trial.model.replies[asked:] if "#check:slow" in reply.prompt]
    running = asked_slow[0] if asked_slow else trial.model.replies[-1]
    began = time.monotonic()
    with trial.cancelling(task_id):
        stopped = trial.until(lambda: running.cut, SOON)
        took = time.monotonic() - began
        patch = {} if stopped else advice.interrupt_keys(trial, running)
    if not stopped:
        raise Differs(
            "its interrupt keys did not stop the answer",
            "`synapse interrupt`, `cancel` and messages of priority 5 do not stop it.",
            patch,
        )
    if not trial.until(lambda: trial.status == READY, SOON):
        raise Differs(
            f"{trial.status} after an interrupt", "After an interrupt the next message waits for ever."
        )
    ended = trial.until_task(task_id, seconds=SOON)["state"]
    if ended != "canceled":
        raise Differs(f"the interrupted task is {ended}", "Senders take half an answer for a whole one.")
    return f"stopped after {took:.1f} s"


def paste(trial: Trial) -> str:
    for _ in range(2):  # a busy machine may be late once
        task = trial.until_task(trial.send(PASTE), seconds=TURN)
        got = _got(trial, task)
        if got != PASTE:
            raise Differs(
                f"of {len(PASTE)} characters it got {len(got)}, not the same", "Long messages arrive damaged."
            )
        if task["state"] != "completed":
            raise Differs(state(task), "Senders of long messages get no reply.")
        if not any(receipt["step"] == "enter again" for receipt in task["receipts"]):
            return f"{len(PASTE.encode())} bytes, exact"
    raise Differs(
        "Enter had to be pressed twice",
        "Long messages are submitted seconds late.",
        advice.submit_delay(trial.profile),
    )


def draft(trial: Trial) -> str:
    empty = trial.settled_screen()
    trial.driver.type(DRAFT_TEXT)
    if not trial.until(lambda: trial.composer["text"] == DRAFT_TEXT, SOON):
        seen = trial.composer
        what = f"seen as {seen['text']!r}" if seen["text"] is not None else f"not seen: {seen['why']}"
        raise Differs(
            f"a half-typed line is {what}",
            "A message waits for a draft that is none, or lands in the middle of what you are typing.",
            advice.composer(trial.driver.screen, DRAFT_TEXT, empty),
        )
    if trial.profile.composer and not trial.composer["ruled"]:
        raise Differs(
            "its prompt is not where the profile says; a half-typed line is seen only by the cursor",
            "Drafts of several lines are not seen, and a message may land in the middle of one.",
            advice.composer(trial.driver.screen, DRAFT_TEXT, empty),
        )
    task = trial.until_task(trial.send("please"), seconds=TURN + 10)
    got = _got(trial, task)
    if task["state"] != "completed" or got != "please":
        raise Differs(
            f"with a half-typed line in the way it got {short(got)}",
            "Your draft and the message are mixed.",
            {} if task["state"] == "completed" else advice.clear_keys(trial, DRAFT_TEXT),
        )
    if not trial.until(lambda: trial.composer["text"] == DRAFT_TEXT, SOON):
        raise Differs("the draft did not come back", "What you had half typed is gone after a message.")
    return "seen, moved aside, brought back"


def clearing(trial: Trial) -> str:
    """With the draft of the check before still there, or its rest."""
    trial.driver.type(CLEARED)
    if not trial.until(lambda: CLEARED.split()[-1] in trial.screen, SOON):
        raise Differs("what was typed is not on its screen", "Drafts cannot be seen.")
    trial.rest(0.3)
    text = DRAFT_TEXT + CLEARED
    for pause, keys in clear_steps(trial.profile, text):
        trial.rest(pause)
        trial.driver.type(keys)
    if not trial.until(lambda: trial.composer["state"] != DRAFT, 2.0):
        raise Differs(
            "its composer is not empty after the clear keys",
            "`@name` lines and drafts leave text behind in its prompt.",
            advice.clear_keys(trial, text),
        )
    got = _got(trial, trial.until_task(trial.send("please"), seconds=TURN))
    if got != "please":
        raise Differs(f"after clearing it got {short(got)}", "Cleared text comes back in the next message.")
    return "empty"


def at_name(trial: Trial) -> str:
    if not trial.until(lambda: trial.agent(PEER) is not None, SOON):
        raise Differs("the second agent did not start", "The check could not be made: run it again.")
    trial.rest(1.2)  # the relay learns the names of agents twice a second
    empty = trial.settled_screen()
    line = f"@{PEER} say hello from the prompt"
    trial.driver.type(line)
    trial.until(lambda: line in trial.screen, SOON)
    trial.rest(0.5)
    trial.driver.type("\r")
    peer = trial.agent(PEER)
    arrived = peer is not None and trial.until(lambda: control.call(peer, "GET", "/tasks")["tasks"], SOON)
    if any(line in prompt for prompt in trial.model.prompts):
        raise Differs("the line went to its own model", "`@name` at its prompt does not reach other agents.")
    if not arrived:
        seen = trial.composer
        raise Differs(
            f"the line did not reach the other agent (its composer: {seen['state']}, {seen['why']})",
            "`@name` at its prompt does not reach other agents.",
            advice.composer(trial.driver.screen, line, empty),
        )
    if not trial.until(lambda: trial.composer["state"] == EMPTY, SOON):
        raise Differs(
            "the line stayed in its composer",
            "Your next prompt begins with the old `@name` line.",
            advice.clear_keys(trial, line),
        )
    return "reached the other agent"


# Name, what the table calls it, and the check.
CHECKS: tuple[tuple[str, str, Callable[[Trial], str]], ...] = (
    ("start", "starts to its prompt", start),
    ("short", "a short turn", short_turn),
    ("long", "a long turn (200 lines)", long_turn),
    ("permission", "a permission question", permission),
    ("interrupt", "interrupt", interrupt),
    ("paste", "a message of 3 KB", paste),
    ("draft", "a half-typed line", draft),
    ("clearing", "clearing the prompt", clearing),
    ("at-name", "@name at its prompt", at_name),
)


def _got(trial: Trial, task: dict[str, Any]) -> str:
    """What the model was asked for a task."""
    found = trial.got(task["id"])
    if found is None:
        _reached(trial, len(trial.model.replies), task["id"])
    return found or ""


def _reached(trial: Trial, asked: int, task_id: str) -> None:
    """Whether the model was asked more often than that, for the task among others."""
    if len(trial.model.replies) > asked:
        return
    if trial.ended:
        raise Stuck(ending(trial), "It ends in the middle of its work.")
    never = not trial.model.replies  # then no other check can tell anything
    task = trial.task(task_id)
    if task["state"] == "submitted":
        raise (Stuck if never else Differs)(
            f"the message was not typed: {task.get('note') or 'no reason is known'}; {where(trial)}",
            "Messages to it wait although it is idle.",
            _composer_to_try(trial),
        )
    raise (Stuck if never else Differs)(
        f"the model was not asked: {where(trial)}",
        "A message does not reach it, or it talks to another model than the scripted one.",
    )


def _composer_to_try(trial: Trial) -> dict[str, Any]:
    """Where its prompt may be, from what happens on the screen when something is typed."""
    empty = trial.settled_screen()
    trial.driver.type(DRAFT_TEXT)
    trial.until(lambda: DRAFT_TEXT in trial.screen, 2.0)
    trial.rest(0.3)
    return advice.composer(trial.driver.screen, DRAFT_TEXT, empty)
