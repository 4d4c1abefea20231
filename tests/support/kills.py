"""Kills the host, the relay or the agent of a real agent at a receipt of a task, or at random.

After each kill everything is looked at: no accepted task may be lost, typed twice, or left without an end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from synapse.base.states import END_STATES
from tests.support.home import Home, hosts, wait
from tests.support.patience import PATIENCE

POINTS = ("stored", "queued", "typing", "submitted", "confirmed", "replied")  # of the life of a task
VICTIMS = ("host", "relay", "agent")


@dataclass
class Tally:
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)  # by victim and point
    accepted: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    endless: list[str] = field(default_factory=list)


class Killing:
    def __init__(self, home: Home) -> None:
        self._home = home
        self.tally = Tally()
        self._sent = 0
        self._host_kills = 0
        self._record = home.path / "record"
        agent = Path(__file__).with_name("recording_agent.py")
        home.env["PYTHONPATH"] = str(agent.parents[2])
        home.profile(
            "recorded",
            f"extends: dummy\ncommand: [{sys.executable}, {agent}]\nenv: {{RECORD: {self._record}}}\n",
        )

    def kill(self, victim: str, point: str | None) -> None:
        """Send a task and kill the victim at that receipt of it; without a point, at some moment."""
        if "k" not in self._home.agents():
            self._home.run("start", "recorded", "--name", "k")
        entry = self._home.agents()["k"]
        self._sent += 1
        text = f"kill number {self._sent:05d} of {victim}"
        pid = self._pid(victim, entry)
        url = f"http://127.0.0.1:{entry['port']}/message"
        task = httpx.post(url, json={"content": text}, timeout=PATIENCE).json()["task_id"]
        self.tally.accepted += 1
        agent_id = str(entry["agent_id"])
        reached = self._wait_for(agent_id, task, point)
        os.kill(pid, signal.SIGKILL)
        self.tally.kills[victim, reached] += 1
        self._judge(agent_id, task, text, victim)

    def _pid(self, victim: str, entry: dict[str, object]) -> int:
        relay = int(str(entry["pid"]))
        if victim == "relay":
            return relay
        if victim == "host":
            wait(lambda: hosts(self._home, "k"), "a host")
            return hosts(self._home, "k")[0]
        children = Path(f"/proc/{relay}/task/{relay}/children").read_text().split()
        for child in children:
            below = Path(f"/proc/{child}/task/{child}/children").read_text().split()
            if below:
                return int(below[0])  # the keeper's child
        raise AssertionError("the agent is not running")

    def _wait_for(self, agent_id: str, task: str, point: str | None) -> str:
        if point is None:
            time.sleep(random.uniform(0, 0.3))
            return "random"
        deadline = time.monotonic() + PATIENCE
        while point != "stored" and time.monotonic() < deadline:
            state, steps = self._row(agent_id, task)
            if point in steps:
                return point
            if state in END_STATES:
                return "end"
        return point

    def _row(self, agent_id: str, task: str) -> tuple[str, list[str]]:
        """The state of a task, and its receipts; as the file has them."""
        path = self._home.path / "synapse" / "agents" / agent_id / "tasks.db"
        try:
            db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
            try:
                found = db.execute("SELECT state, detail FROM tasks WHERE id = ?", (task,)).fetchone()
            finally:
                db.close()
        except sqlite3.OperationalError:
            return "", []
        if found is None:
            return "missing", []
        return found[0], [receipt["step"] for receipt in json.loads(found[1]).get("receipts", ())]

    def _judge(self, agent_id: str, task: str, text: str, victim: str) -> None:
        if victim != "host":  # the agent is gone: its next run ends what is left
            wait(lambda: not self._home.registry.is_alive(agent_id), "the end of the agent")
            self._home.wait_no_process()
            self._home.run("start", "recorded", "--name", "k")
        deadline = time.monotonic() + PATIENCE
        while (state := self._row(agent_id, task)[0]) not in END_STATES and time.monotonic() < deadline:
            if state == "missing":
                break
            time.sleep(0.02)
        if state == "missing":
            self.tally.lost.append(task)
        elif state not in END_STATES:
            self.tally.endless.append(task)
        if victim == "host" and state != "completed":
            self.tally.lost.append(f"{task} ({state}): the agent was there all the time")
        typed = self._typed(text)
        if typed > 1:
            self.tally.twice.append(task)
        elif state == "completed" and not typed:
            self.tally.lost.append(f"{task}: completed without the agent")
        if victim == "host":
            self._host_kills += 1
            if self._host_kills % 2 == 0:  # a relay starts a host that keeps dying later and later
                self._home.run("stop", "k")

    def _typed(self, text: str) -> int:
        """How often the agent was given the message, by its own record of the conversation."""
        return self._record.read_text().count(text) if self._record.exists() else 0
