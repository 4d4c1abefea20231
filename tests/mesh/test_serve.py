"""The server that `synapse mesh serve` runs, and the commands around it."""

from __future__ import annotations

import json
import os
import signal
import stat
import time

import pytest

from tests.support.home import Home, wait
from tests.support.mesh import new_mesh
from tests.support.ports import free_port


def test_on_an_address_it_speaks_tls_with_an_authority_of_its_own() -> None:
    with new_mesh("alpha", "beta", options=("--listen", "127.0.0.2")) as mesh:
        assert mesh.status("beta")["urls"] == [f"tls://127.0.0.2:{mesh.port}"]
        mesh.start("beta", "b")
        assert "over tls" in mesh["alpha"].run("send", "b@beta", "--return", "say over tls").stdout
        joined = mesh["beta"].path / "synapse" / "mesh" / "joined.json"
        told = json.loads(joined.read_text())
        joined.write_text(json.dumps({**told, "ca": ""}))  # whoever does not know the authority
        assert mesh.status("beta")["problem"] != ""
        joined.write_text(json.dumps(told))


def test_secrets_are_in_files_that_nobody_else_reads() -> None:
    with new_mesh("alpha", "beta", options=("--listen", "127.0.0.2")) as mesh:
        joined = mesh["beta"].path / "synapse" / "mesh" / "joined.json"
        seed = json.loads(joined.read_text())["seed"]
        for home in mesh.homes.values():
            for folder, _, names in os.walk(home.path / "synapse" / "mesh"):
                for name in names:
                    path = os.path.join(folder, name)
                    if "jetstream" not in path:
                        mode = stat.S_IMODE(os.stat(path).st_mode)
                        assert not mode & 0o077 or name in ("nats.log", "nats.pid"), (path, oct(mode))
                        with open(path, errors="replace") as file:
                            has_seed = seed in file.read()
                        assert has_seed == (path == str(joined)), path
        for pid in mesh["alpha"].processes():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert b"SU" not in file.read()


def test_it_runs_in_the_background_and_ends_with_its_process(home: Home) -> None:
    done = home.run("mesh", "serve", "--port", str(free_port()), "--machine", "one", "--detach")
    pid = int(done.stdout.split("process ")[1].split(";")[0])
    try:
        assert json.loads(home.run("mesh", "status", "--json").stdout)["problem"] == ""
        again = home.run("mesh", "serve", check=False)
        assert again.returncode == 1 and "serves the mesh already" in again.stderr
    finally:
        os.kill(pid, signal.SIGKILL)  # the kernel tells the server
    wait(lambda: not home.processes(), "the end of the server")
    status = home.run("mesh", "status", check=False)
    assert status.returncode == 1 and "cannot be reached" in status.stdout


def test_a_machine_that_joins_and_leaves_takes_its_running_agents_with_it() -> None:
    with new_mesh("alpha", "beta") as mesh:
        mesh["beta"].run("mesh", "leave")
        mesh["beta"].run("start", "dummy", "--name", "late")
        time.sleep(1)
        assert mesh.known("alpha") == {}
        mesh["alpha"].run("mesh", "revoke", "beta")
        mesh.join("beta")
        wait(lambda: "late@beta" in mesh.known("alpha"), "the agent in the mesh")
        mesh["beta"].run("mesh", "leave")
        wait(lambda: "late@beta" not in mesh.known("alpha"), "the agent to be gone")


def test_without_the_extra_one_sentence_says_how_to_get_it(home: Home) -> None:
    fake = home.path / "fake"
    for name in ("nats", "nkeys"):
        (fake / name).mkdir(parents=True)
        said = f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n"
        (fake / name / "__init__.py").write_text(said)
    for words in (("serve",), ("join", "nats://127.0.0.1:1")):
        done = home.run("mesh", *words, check=False, PYTHONPATH=str(fake))
        assert done.returncode == 1, done
        assert "pip install 'a2a-synapse[mesh]'" in done.stderr and done.stderr.count("\n") == 1


def test_config_prints_what_an_administrator_sets(home: Home) -> None:
    told = json.loads(home.run("mesh", "config", "laptop=ann", "box=bob").stdout)
    assert told["users"].keys() == {"laptop", "box"}
    publish = told["users"]["laptop"]["permissions"]["publish"]["allow"]
    assert "synapse.synapse.task.*.*.from.laptop" in publish
    assert not any("from.box" in subject for subject in publish)
    assert {"synapse-synapse-mail-box", "KV_synapse-synapse-agents"} <= {s["name"] for s in told["streams"]}
    wrong = home.run("mesh", "config", "Not A Name", check=False)
    assert wrong.returncode == 2


@pytest.mark.parametrize("words", [("invite", "x"), ("revoke", "x"), ("leave",)])
def test_a_command_that_needs_a_mesh_says_so(home: Home, words: tuple[str, ...]) -> None:
    done = home.run("mesh", *words, check=False)
    assert done.returncode == 1 and "synapse mesh" in done.stderr
