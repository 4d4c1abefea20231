from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from synapse.errors import TargetError, UsageError
from synapse.registry import PROCESSING, READY, AgentRegistry, Entry

HOLDER = """
import sys, time
from synapse.registry import AgentRegistry
AgentRegistry(sys.argv[1]).register(sys.argv[2], "dummy", 8200, name=sys.argv[3], working_dir=sys.argv[4])
print("registered", flush=True)
time.sleep(60)
"""


@pytest.fixture
def registry(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(tmp_path / "registry")


def test_identity_is_the_hash_of_host_directory_and_type(registry: AgentRegistry) -> None:
    raw = f"{socket.gethostname()}|/some/dir|claude"
    assert registry.get_agent_id("claude", "/some/dir") == hashlib.sha256(raw.encode()).hexdigest()
    second = hashlib.sha256(f"{raw}|2".encode()).hexdigest()
    assert registry.get_agent_id("claude", "/some/dir", 2) == second


def test_an_agent_is_listed_from_register_to_unregister(registry: AgentRegistry) -> None:
    registry.register("abc", "claude", 8100, READY, working_dir="/w")
    entry = registry.list_agents()["abc"]
    assert entry["endpoint"] == "http://localhost:8100"
    assert (entry["agent_type"], entry["name"], entry["status"], entry["pid"], entry["working_dir"]) == (
        *("claude", "claude", READY, os.getpid()),
        "/w",
    )
    registry.unregister("abc")
    assert registry.list_agents() == {}
    assert [name for name in os.listdir(registry.registry_dir) if name != ".mutex"] == []


def test_files_are_private_json(registry: AgentRegistry) -> None:
    registry.register("abc", "claude", 8100)
    path = Path(registry.registry_dir) / "abc.json"
    assert json.loads(path.read_text())["port"] == 8100
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    registry.unregister("abc")


def test_the_status_changes_only_for_the_living(registry: AgentRegistry) -> None:
    assert not registry.update_status("abc", READY)
    registry.register("abc", "claude", 8100)
    assert registry.list_agents()["abc"]["status"] == PROCESSING
    assert registry.update_status("abc", READY)
    assert registry.list_agents()["abc"]["status"] == READY
    with pytest.raises(ValueError, match="READY"):
        registry.update_status("abc", "BUSY")
    registry.unregister("abc")
    assert not registry.update_status("abc", READY)
    assert registry.list_agents() == {}


def test_a_killed_agent_is_gone_for_every_reader_and_a_live_one_never(registry: AgentRegistry) -> None:
    holders = []
    for name in ("one", "two"):
        argv = [sys.executable, "-c", HOLDER, registry.registry_dir, name * 4, name, "/w"]
        holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
        assert holder.stdout is not None and holder.stdout.readline()
        holders.append(holder)
    for _ in range(200):
        assert len(registry.list_agents()) == 2
    holders[0].send_signal(signal.SIGKILL)
    holders[0].wait()
    assert [e["name"] for e in registry.list_agents().values()] == ["two"]
    assert sorted(os.listdir(registry.registry_dir)) == [".mutex", "two" * 4 + ".json", "two" * 4 + ".lock"]
    holders[1].kill()
    holders[1].wait()
    for holder in holders:
        assert holder.stdout is not None
        holder.stdout.close()


def test_files_of_others_are_left_alone(registry: AgentRegistry) -> None:
    folder = Path(registry.registry_dir)
    folder.mkdir(parents=True)
    mine = {"agent_id": "x", "name": "x", "agent_type": "t", "port": 1, "status": READY, "working_dir": "/"}
    entry = {**mine, "pid": os.getpid(), "endpoint": ""}
    others = {
        "broken.json": "{",
        "stray.txt": "hello",
        "package.json": '{"name": "other"}',
        "package.lock": "",
        "copy-of-x.json": json.dumps(entry),  # the name of the file is not the agent's id
        "x.json": json.dumps(entry),  # its lock was removed, but its process lives
        "y.json": json.dumps({**entry, "agent_id": "y", "pid": "none"}),
    }
    for name, text in others.items():
        (folder / name).write_text(text)
    registry.register("abc", "claude", 8100)
    assert list(registry.list_agents()) == ["abc"] and registry.stale_files() == []
    registry.unregister("abc")
    assert {name for name in os.listdir(folder) if name != ".mutex"} == set(others)


def test_a_process_that_nobody_has_waited_for_is_dead(registry: AgentRegistry) -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    entry = registry.register("abc", "claude", 8100, pid=process.pid)
    registry.unregister("abc")
    Path(registry.registry_dir, "abc.json").write_text(json.dumps(entry))
    assert len(registry.stale_files()) == 1
    process.wait()


def test_what_a_dead_agent_left_is_removed_even_if_it_is_damaged(registry: AgentRegistry) -> None:
    folder = Path(registry.registry_dir)
    folder.mkdir(parents=True)
    for suffix in ("json", "lock"):
        (folder / f"{'ab' * 32}.{suffix}").write_text("{")
    assert len(registry.stale_files()) == 2
    assert registry.list_agents() == {}
    assert os.listdir(folder) == [".mutex"]


def test_an_entry_that_was_removed_or_damaged_is_published_again(registry: AgentRegistry) -> None:
    entry = registry.register("abc", "claude", 8100)
    path = Path(registry.registry_dir) / "abc.json"
    for damage in (path.unlink, lambda: path.write_text("{")):
        damage()
        assert registry.list_agents() == {} and registry.publish(entry, status=READY)
        assert registry.list_agents()["abc"] == {**entry, "status": READY}
    registry.unregister("abc")
    assert not registry.publish(entry, status=READY)


def test_an_agent_that_ends_is_not_published_again(registry: AgentRegistry) -> None:
    """Its host may learn of a last change of the status after its relay has removed the entry."""
    entry = registry.register("a" * 64, "dummy", 8200)
    registry.withdraw("a" * 64)
    assert not AgentRegistry(registry.registry_dir).publish(entry, status=READY)
    assert registry.list_agents() == {} and registry.is_alive("a" * 64)
    registry.unregister("a" * 64)
    again = registry.register("a" * 64, "dummy", 8200)
    assert registry.publish(again, status=READY) and list(registry.list_agents()) == ["a" * 64]


def test_an_entry_that_is_written_while_the_agent_is_withdrawn_is_removed(
    registry: AgentRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, host = registry.register("a" * 64, "dummy", 8200), AgentRegistry(registry.registry_dir)
    write = host._write

    def late(agent_id: str, merged: Entry) -> None:
        registry.withdraw(agent_id)
        write(agent_id, merged)

    monkeypatch.setattr(host, "_write", late)
    assert not host.publish(entry, status=READY) and registry.list_agents() == {}


def test_a_lock_that_was_removed_is_taken_again(registry: AgentRegistry) -> None:
    entry = registry.register("abc", "claude", 8100)
    shutil.rmtree(registry.registry_dir)
    assert not registry.is_alive("abc")
    registry.keep_lock("abc")
    assert registry.is_alive("abc") and registry.publish(entry, status=READY)
    registry.unregister("abc")
    assert not registry.is_alive("abc")


class TestChoosing:
    def test_names_and_instances_count_up(self, registry: AgentRegistry) -> None:
        seen = []
        for _ in range(3):
            agent_id, name = registry.choose("claude", "/w", None, registry.list_agents())
            registry.register(agent_id, "claude", 8100, name=name, working_dir="/w")
            seen.append(name)
        assert seen == ["claude", "claude-2", "claude-3"]
        assert registry.choose("claude", "/elsewhere", None, registry.list_agents()) == (
            registry.get_agent_id("claude", "/elsewhere"),
            "claude-4",
        )
        for agent_id in registry.list_agents():
            registry.unregister(agent_id)

    def test_a_name_twice_is_refused(self, registry: AgentRegistry) -> None:
        registry.register("abc", "claude", 8100, name="reviewer", working_dir="/w")
        with pytest.raises(UsageError, match="already running in /w"):
            registry.choose("codex", "/w", "Reviewer", registry.list_agents())
        registry.unregister("abc")

    @pytest.mark.parametrize("name", ["all", "two words", "", "-x", "a/b", "@codex", "."])
    def test_names_that_could_not_be_addressed_are_refused(self, registry: AgentRegistry, name: str) -> None:
        with pytest.raises(UsageError, match="cannot be an agent's name"):
            registry.choose("codex", "/w", name, {})


class TestResolving:
    @pytest.fixture
    def busy(self, registry: AgentRegistry) -> AgentRegistry:
        for agent_id, kind, port, name, directory in (
            ("aaaa1", "claude", 8100, "claude", "/a"),
            ("bbbb2", "claude", 8101, "claude-2", "/b"),
            ("cccc3", "codex", 8120, "reviewer", "/a"),
            ("dddd4", "gemini", 8110, "g1", "/a"),
            ("dddd5", "gemini", 8111, "g2", "/b"),
        ):
            registry.register(agent_id, kind, port, name=name, working_dir=directory)
        return registry

    @pytest.mark.parametrize(
        ("target", "here", "name"),
        [
            ("claude", "/a", "claude"),
            ("claude", "/b", "claude-2"),  # a bare type prefers this directory
            ("claude", "/elsewhere", "claude"),
            ("CLAUDE-2", "/a", "claude-2"),
            ("claude-8101", "/a", "claude-2"),
            ("codex", "/elsewhere", "reviewer"),
            ("reviewer", "/b", "reviewer"),
            ("aaaa", "/b", "claude"),
            ("gemini", "/b", "g2"),
        ],
    )
    def test_targets(self, busy: AgentRegistry, target: str, here: str, name: str) -> None:
        assert busy.resolve(target, here)["name"] == name

    def test_an_ambiguous_target_lists_the_candidates(self, busy: AgentRegistry) -> None:
        with pytest.raises(TargetError, match=r"g1 \(/a\), g2 \(/b\)"):
            busy.resolve("gemini", "/elsewhere")
        with pytest.raises(TargetError, match="g1"):
            busy.resolve("dddd", "/a")

    def test_an_unknown_target_names_the_nearest(self, busy: AgentRegistry) -> None:
        with pytest.raises(TargetError, match="did you mean 'reviewer'"):
            busy.resolve("reviwer", "/a")

    def test_with_nobody_running_it_says_so(self, registry: AgentRegistry) -> None:
        with pytest.raises(TargetError, match="`synapse list` shows who is"):
            registry.resolve("codex")
