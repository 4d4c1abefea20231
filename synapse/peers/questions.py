"""What the agents ask, here and on other machines: all are asked at once, over their private sockets."""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from synapse.errors import SynapseError, TargetError
from synapse.peers.local import LocalPeer
from synapse.peers.local_http import Place, exchange
from synapse.peers.origin import Origin
from synapse.peers.remote import in_thread, is_reachable, key_of, reach, remote_entries, sender_there
from synapse.peers.task import Json
from synapse.registry import INPUT_REQUIRED, AgentRegistry, Entry

PATIENCE = 5.0  # seconds for one agent: a host that hangs is replaced; one that has just started loads
SHORTEST = 4  # characters of an id that may stand for it


class Asked(NamedTuple):
    """`questions`, the oldest first, and the names of the agents that did not answer."""

    questions: list[Json]
    silent: list[str]


class Open(NamedTuple):
    """An open question, and the agent that asks it."""

    question: Json
    entry: Entry


async def list_questions(registry: AgentRegistry, patience: float = PATIENCE) -> Asked:
    found, silent = await _gather(await _everybody(registry), patience)
    return Asked([each.question for each in found], silent)


async def find_question(registry: AgentRegistry, question_id: str, patience: float = PATIENCE) -> Open:
    """The open question with this id, or whose id begins so."""
    found, silent = await _gather(await _everybody(registry), patience)
    exact = [each for each in found if each.question.get("id") == question_id]
    begun = [
        each
        for each in found
        if len(question_id) >= SHORTEST and str(each.question.get("id")).startswith(question_id)
    ]
    matching = exact or begun
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = ", ".join(str(each.question["id"]) for each in matching)
        raise TargetError(f"{question_id!r} could be {ids}: write more of it.")
    if 0 < len(question_id) < SHORTEST and any(
        str(each.question.get("id")).startswith(question_id) for each in found
    ):
        raise TargetError(f"{question_id!r} is too short: write at least {SHORTEST} characters of the id.")
    unheard = f" ({', '.join(silent)} did not answer)" if silent else ""
    raise SynapseError(f"nobody asks a question {question_id!r}{unheard}: `synapse questions` lists them.")


async def answer_question(found: Open, text: str, sender: Origin | None = None) -> None:
    """Raises Refused if the agent asks something else now. Never sent twice."""
    peer = LocalPeer(AgentRegistry(), await in_thread(reach, found.entry))
    signed = {"sender": sender_there(sender, found.entry)} if sender else {}
    path = f"/questions/{quote(str(found.question['id']))}"
    await peer.ask("POST", path, {"answer": text, **signed})


class QuestionWatch:
    """Says what is asked since the last look, and what is no longer asked.

    Only agents that wait for an answer, as the registry has it, are asked: a look is cheap while there are
    none. `me` is an agent to leave out."""

    def __init__(self, registry: AgentRegistry, me: str = "", patience: float = PATIENCE) -> None:
        self._registry = registry
        self._me = me
        self._patience = patience
        self._known: dict[str, Open] = {}

    async def look(self) -> tuple[list[Open], list[Open]]:
        entries = {key_of(entry): entry for entry in await _everybody(self._registry)}
        asking = [e for key, e in entries.items() if e["status"] == INPUT_REQUIRED and key != self._me]
        found, silent = await _gather(asking, self._patience)
        now = {str(each.question["id"]): each for each in found}
        for name, known in self._known.items():
            if known.entry["name"] in silent and key_of(known.entry) in entries:
                now.setdefault(name, known)  # its host is busy or being replaced
        asked = [each for name, each in now.items() if name not in self._known]
        gone = [each for name, each in self._known.items() if name not in now]
        self._known = now
        return asked, gone


async def _everybody(registry: AgentRegistry) -> list[Entry]:
    """Those of a machine that does not answer are left out: what they ask now is not known."""
    there = await in_thread(remote_entries)
    asked = [entry for entry in there if is_reachable(entry) and not entry["stale"]]
    return [*registry.list_agents().values(), *asked]


async def _gather(entries: Iterable[Entry], patience: float) -> tuple[list[Open], list[str]]:
    known = list(entries)
    answers = await asyncio.gather(*(_ask(entry, patience) for entry in known))
    heard = list(zip(known, answers, strict=True))
    found = [Open(question, entry) for entry, questions in heard for question in questions or ()]
    found.sort(key=lambda each: str(each.question.get("asked_at")))
    return found, [str(entry["name"]) for entry, questions in heard if questions is None]


async def _ask(entry: Entry, patience: float) -> list[Json] | None:
    """None if it does not answer; one that has just ended asks nothing."""
    try:
        entry = await in_thread(reach, entry) if entry.get("machine") else entry
        place = Place(str(entry.get("socket") or ""), int(str(entry["port"])), str(entry["agent_id"]))
        async with asyncio.timeout(patience), exchange(place, "GET", "/questions") as response:
            answer = await response.json()
    except (FileNotFoundError, ConnectionRefusedError):
        return []
    except (OSError, TimeoutError, SynapseError):
        return None
    questions = answer.get("questions") if isinstance(answer, dict) else None
    if response.status != 200 or not isinstance(questions, list):
        return None
    known = [question for question in questions if isinstance(question, dict) and question.get("id")]
    return [question | {"agent": entry["name"]} for question in known] if entry.get("machine") else known
