"""What an agent claims on this machine before it starts: a name, a port, sockets and a registry entry."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from synapse.base import files, paths
from synapse.config import load_settings
from synapse.errors import SynapseError, UsageError
from synapse.launch import claim as module
from synapse.launch.addresses import LOOPBACK, Address, resolve
from synapse.launch.claim import Claim, claim
from synapse.profiles.loader import load_profile
from tests.support.home import Home
from tests.support.ports import free_port


class Claims:
    """Claims agents of the profile `mine`, and releases them at the end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(
        self, name: str | None = None, port: int | None = None, address: Address = LOOPBACK
    ) -> Claim:
        claimed = claim(load_profile("mine"), load_settings(), name, port, address)
        self._stack.callback(self._release, claimed)
        return claimed

    def _release(self, claimed: Claim) -> None:
        for sock in (claimed.tcp, claimed.control, claimed.events, claimed.attach):
            sock.close()
        claimed.release()


@pytest.fixture
def claims(home: Home) -> Iterator[Claims]:
    home.profile("mine", "command: x\n")
    with ExitStack() as stack:
        yield Claims(stack)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock.getsockname()[1]


def test_the_port_and_the_sockets_accept_connections_and_only_the_user_may_use_them(
    claims: Claims, home: Home
) -> None:
    claimed = claims()
    port = int(str(claimed.entry["port"]))
    assert port >= 8200 and claimed.entry["endpoint"] == f"http://localhost:{port}"
    socket.create_connection(("127.0.0.1", port)).close()
    for path in (
        paths.control_socket(claimed.agent_id),
        paths.events_socket(claimed.agent_id),
        paths.attach_socket(claimed.agent_id),
    ):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    assert set(home.agents()) == {"mine"}


def test_release_takes_the_entry_and_the_sockets_away(claims: Claims, home: Home) -> None:
    claimed = claims()
    path = paths.control_socket(claimed.agent_id)
    claimed.release()
    assert home.agents() == {} and not os.path.exists(path)


def test_a_second_agent_in_the_directory_has_a_name_and_a_port_of_its_own(claims: Claims) -> None:
    first, second = claims(), claims()
    assert (first.name, second.name) == ("mine", "mine-2")
    assert first.agent_id != second.agent_id and first.entry["port"] != second.entry["port"]
    assert [entry["name"] for entry in second.others] == ["mine"]


def test_an_agent_whose_registry_folder_was_removed_is_not_started_twice(
    claims: Claims, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two would share its id, its sockets and its tasks."""
    monkeypatch.setattr(module, "ENDING", 0.2)
    first = claims()
    shutil.rmtree(home.registry.registry_dir)
    with pytest.raises(
        SynapseError, match=r"mine is running, but its file in .* was removed: it writes it again"
    ):
        claims()
    first.keep()
    assert claims().name == "mine"  # its entry is the host's to write
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(paths.control_socket(first.agent_id))


def test_a_name_is_unique_whatever_its_case(claims: Claims) -> None:
    claims("Reviewer")
    with pytest.raises(UsageError, match=r"'reviewer' is already running in .*: choose another --name"):
        claims("reviewer")


def test_a_port_that_was_asked_for_is_taken_or_refused(claims: Claims, taken: int) -> None:
    port = free_port()
    assert claims(port=port).entry["port"] == port
    with pytest.raises(UsageError, match=rf"port {taken} cannot be used \(is in use by another program\)"):
        claims(port=taken)


def test_the_settings_name_a_port_before_the_profile_does(claims: Claims, home: Home) -> None:
    port = free_port()
    (home.path / "synapse" / "config.yaml").write_text(f"agents: {{mine: {{port: {port}}}}}\n")
    assert claims().entry["port"] == port


def test_a_range_that_is_full_is_left_for_the_common_ports(claims: Claims, home: Home, taken: int) -> None:
    home.profile("mine", f"command: x\nports: {taken}\n")
    assert int(str(claims().entry["port"])) >= module.FIRST_COMMON_PORT


def test_no_free_port_at_all(claims: Claims, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_COMMON_PORT", taken)
    monkeypatch.setattr(module, "LAST_PORT", taken)
    with pytest.raises(SynapseError, match=f"no port is free from {taken} on: stop an agent, or"):
        claims()


def test_an_address_of_another_machine(claims: Claims) -> None:
    with pytest.raises(UsageError, match=r"--host 192\.0\.2\.1 is not an address of this machine: use 127"):
        claims(address=resolve("192.0.2.1"))


def test_a_socket_directory_that_cannot_be_used_is_named(claims: Claims, home: Home) -> None:
    folder = paths.runtime_dir()
    os.rmdir(folder)
    with open(folder, "w"):
        pass
    try:
        with pytest.raises(SynapseError, match=f"cannot create {folder} .*: see `synapse doctor`"):
            claims()
    finally:
        os.unlink(folder)
    assert home.agents() == {}


def test_a_claim_that_cannot_be_registered_leaves_nothing(
    claims: Claims, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: sockets and locks take no room, the registry entry does."""

    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = set(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch, pytest.raises(SynapseError, match=r"No space left .*: make room"):
        patch.setattr(files, "replace", is_full)
        claims()
    assert home.agents() == {} and os.listdir(paths.runtime_dir()) == []
    assert not [name for name in os.listdir(home.registry.registry_dir) if name.endswith((".json", ".lock"))]
    assert set(os.listdir("/proc/self/fd")) == before
    claims()
