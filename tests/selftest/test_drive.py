"""`synapse doctor --drive` with a fictional CLI: what differs is named, and nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import SYNAPSE, Home, wait
from tests.support.packages import ROOT, install

LONG = "300"  # seconds that a busy machine may take
CHECKS = 9
SLACK = 10  # seconds that the end of every process may take


@pytest.fixture
def ours(home: Home, tmp_path: Path) -> Iterator[Home]:
    """A home in which the fictional CLI is installed. Nothing may be left of the temporary homes."""
    site, temporary = tmp_path / "site", home.path / "t"
    site.mkdir()
    temporary.mkdir()
    install(site, "zenith")
    home.env["PYTHONPATH"] = f"{ROOT}:{site}"
    home.env["TMPDIR"] = str(temporary)
    yield home
    assert list(temporary.iterdir()) == []
    wait(lambda: not left_running(temporary), "end of every process")


def left_running(folder: Path) -> list[str]:
    mark, found = f"SYNAPSE_DRIVE={folder}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def drive(home: Home, *args: str, profile: str = "") -> subprocess.CompletedProcess[str]:
    if profile:
        home.profile("zenith", f"extends: zenith\n{profile}")
    words = ["doctor", "zenith", "--drive", "--timeout", LONG, *args]
    return subprocess.run(
        [*SYNAPSE, *words],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
    )


def test_a_cli_that_is_as_it_was_measured(ours: Home, tmp_path: Path) -> None:
    recording = tmp_path / "zenith.cast"
    done = drive(ours, "--record", str(recording))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CHECKS} as measured" in done.stdout and "zenith 7.0" in done.stdout
    head, *events = map(json.loads, recording.read_text().splitlines())
    assert (head["version"], head["width"]) == (2, 120)
    assert "@name at its prompt" in [event[2] for event in events if event[1] == "m"]
    assert "zenith was as measured" in ours.run("doctor").stdout
    assert "it was as measured" in ours.run("doctor", "zenith").stdout
    kept = json.loads((ours.path / "synapse" / "checks" / "zenith.json").read_text())
    assert (kept["version"], kept["differs"], kept["left_out"]) == ("zenith 7.0", [], [])


def test_what_a_release_has_changed_is_named_with_a_profile_to_try(ours: Home) -> None:
    done = drive(ours, profile='args: [--no-escape, --yolo, --glyph, "§"]\n')
    assert done.returncode == 1, done.stdout + done.stderr
    out = done.stdout
    for row in (
        "✓ a short turn",
        "✗ a permission question    differs      it ran the command without asking",
        "✗ interrupt                differs      its interrupt keys did not stop the answer",
        "✗ a half-typed line        differs      its prompt is not where",
        "✓ a message of 3 KB",
    ):
        assert row in out, out
    assert "what would go wrong" in out and "It does not ask before it runs commands." in out
    patch = out.split("to try, in ")[1]
    assert "zenith.yaml" in patch and "interrupt_keys:\n  - C-c" in patch and "first: §" in patch
    assert "extends" not in patch, "the user has a profile of that name already"
    assert "zenith differed" in ours.run("doctor").stdout


@pytest.mark.parametrize(
    ("args", "seen", "harm"),
    [
        ("--never-heard-of", "error: unrecognized arguments: --never-heard-of", "too old"),
        ("--trust", "it asks 'Do you trust the files in this folder?", "no message can be delivered"),
    ],
)
def test_a_cli_that_does_not_come_to_its_prompt(ours: Home, args: str, seen: str, harm: str) -> None:
    done = drive(ours, profile=f"args: [{args}]\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert seen in done.stdout and harm in done.stdout, done.stdout
    assert f"1 differs, {CHECKS - 1} left out" in done.stdout


def test_a_cli_that_needs_a_login_says_what_was_left_out(ours: Home) -> None:
    ours.env["ZENITH_LOGIN"] = "1"
    done = drive(ours, profile="args: [--trust]\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it starts, and asks for a login" in done.stdout
    assert done.stdout.count("it needs a login, which a made-up key cannot replace") == CHECKS - 1
    assert "without a short turn, a long turn" in ours.run("doctor").stdout


def test_a_model_that_nobody_asks(ours: Home) -> None:
    done = drive(ours, profile="args: [--elsewhere]\n")
    assert done.returncode == 1 and "the model was not asked" in done.stdout, done.stdout + done.stderr
    assert f"1 differs, {CHECKS - 2} left out" in done.stdout


def test_a_machine_that_is_too_slow(ours: Home) -> None:
    done = ours.run("doctor", "zenith", "--drive", "--timeout", "1", check=False)
    left_out = [f"{CHECKS - n} left out, 1 not done" for n in (1, 2)]  # a quick one has started by then
    assert done.returncode == 1 and any(said in done.stdout for said in left_out), done.stdout
    assert "longer --timeout" in done.stdout
    kept = json.loads((ours.path / "synapse" / "checks" / "zenith.json").read_text())
    assert not kept["differs"] and len(kept["left_out"]) >= CHECKS - 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_removes_everything(ours: Home, number: int) -> None:
    """The fixture looks for what is left."""
    process = subprocess.Popen(
        [*SYNAPSE, "doctor", "zenith", "--drive"],
        env=ours.env,
        cwd=ours.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "starts to its prompt" in line:
            break
    process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number and "Traceback" not in error, out + error
    assert not (ours.path / "synapse" / "checks").exists()


def test_bad_input_is_one_sentence(ours: Home) -> None:
    ours.profile("gone", "extends: zenith\ncommand: no-such-program\nchannel: zenith\ninstall: get it\n")
    ours.profile("plain", "command: cat\n")
    for words, status, sentence in (
        (["nobody", "--drive"], 2, "there is no profile nobody"),
        (["gone", "--drive"], 1, "'no-such-program', which is not installed: install it with `get it`"),
        (["plain", "--drive"], 1, "plain cannot be checked: how to run it without a network is not known"),
        (["--drive"], 2, "--drive takes the name of a profile, or --all"),
        (["zenith", "--all"], 2, "--all, --record and --timeout go with --drive"),
        (["--drive", "--all", "--record", "x"], 2, "--record takes one profile"),
        (
            ["zenith", "--drive", "--record", "no/x.cast"],
            1,
            "no/x.cast (there is no such directory): name anot",
        ),
        (["zenith", "--drive", "--record", "/"], 1, "cannot write the recording to / (it is a directory)"),
    ):
        done = ours.run("doctor", *words, check=False)
        assert (done.returncode, sentence in done.stderr) == (status, True), done.stderr
        assert done.stderr.count("\n") == 1


def test_a_recording_that_cannot_be_saved_costs_no_result(ours: Home) -> None:
    done = drive(ours, "--record", "/dev/full", profile="args: [--trust]\n")
    assert done.returncode == 1 and "1 differs, 8 left out" in done.stdout, done.stdout + done.stderr
    assert "cannot write the recording to /dev/full (No space left on device)" in done.stderr
    assert (ours.path / "synapse" / "checks" / "zenith.json").exists()


def as_program(home: Home, text: str) -> None:
    """A CLI that is this shell script."""
    made = home.path / "zenith.sh"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    home.profile("zenith", f"extends: zenith\ncommand: {made}\n")


def test_a_result_that_cannot_be_kept_costs_no_report_and_no_other_cli(ours: Home) -> None:
    """The exit status is that of the checks. A file where the directory should be, since root may write
    everywhere."""
    for name in ("zenith", "another"):
        ours.profile(name, "extends: zenith\nchannel: zenith\nargs: [--trust]\n")
    (ours.path / "synapse" / "checks").write_text("")
    done = ours.run("doctor", "--drive", "--all", "--timeout", LONG, check=False)
    assert done.returncode == 1 and done.stderr == "", done.stdout + done.stderr
    for name in ("zenith", "another"):
        report = done.stdout.split(f"{name} zenith 7.0 (")[1]
        summary = report.index(f"1 differs, {CHECKS - 1} left out")
        assert summary < report.index("what would go wrong") < report.index("could not be kept in"), report
    ours.env["ZENITH_LOGIN"] = "1"
    ours.profile("zenith", "extends: zenith\nargs: [--trust]\n")
    done = drive(ours)
    assert done.returncode == 0 and "could not be kept in" in done.stdout, done.stdout + done.stderr


def test_a_cli_that_says_no_version_is_cut_off_and_its_time_counts(ours: Home) -> None:
    ours.env["ZENITH_NEWER"] = "--of-the-newest"  # so `--help` is asked too
    as_program(ours, "sleep 1000 & wait")
    began = time.monotonic()
    done = ours.run("doctor", "zenith", "--drive", "--timeout", "4", check=False)
    took = time.monotonic() - began
    assert done.returncode == 1 and "zenith of an unknown version" in done.stdout, done.stdout + done.stderr
    said = re.search(r"left out.*, in (\d+) s", done.stdout)
    assert said is not None and abs(took - int(said[1])) < 3 and took < 4 + SLACK, (took, done.stdout)


@pytest.mark.parametrize(
    ("said", "is_login"),
    [
        ("please run codex login", True),
        ("Error: 401 Unauthorized", True),
        ("You must be signed in to use this.", True),
        ("error: unknown option --x; Commands: login: Log in to your account", False),
    ],
)
def test_a_cli_that_ends_for_want_of_a_login_is_not_called_damaged(
    ours: Home, said: str, is_login: bool
) -> None:
    as_program(ours, f'[ "$1" = --version ] && echo 1.0 && exit; echo "{said}"; exit 1')
    done = drive(ours)
    assert done.returncode == 1 and said[:60] in done.stdout, done.stdout + done.stderr
    assert ("It needs a login" in done.stdout, "damaged" in done.stdout) == (is_login, not is_login)


def test_what_a_killed_doctor_left_is_removed_by_the_next(ours: Home) -> None:
    """The fixture looks for what is left, also of its processes."""
    killed = subprocess.Popen(
        [*SYNAPSE, "doctor", "zenith", "--drive"],
        env=ours.env,
        cwd=ours.work,
        stdout=subprocess.PIPE,
        text=True,
    )
    with killed:
        assert killed.stdout is not None
        next(line for line in killed.stdout if "starts to its prompt" in line)
        killed.kill()
    assert [path.name[:5] for path in Path(ours.env["TMPDIR"]).iterdir()] == ["synd-"]
    ours.run("doctor", "zenith", "--drive", "--timeout", "1", check=False)


def test_an_argument_that_an_older_release_refuses_is_not_given_to_it(ours: Home) -> None:
    """Else it would seem not to start."""
    ours.env["ZENITH_NEWER"] = "--of-the-newest"
    ours.profile("zenith", "extends: zenith\nargs: [--elsewhere]\n")
    done = drive(ours)
    assert "✓ starts to its prompt" in done.stdout, done.stdout + done.stderr


def test_a_temporary_directory_that_cannot_be_used(ours: Home) -> None:
    """Full, or gone while the checks begin."""
    code = (
        "import shutil, sys; shutil.disk_usage = lambda path: type('U', (), {'free': 5})\n"
        "from synapse.cli.main import main; sys.exit(main(['doctor', 'zenith', '--drive']))"
    )
    done = subprocess.run([SYNAPSE[0], "-P", "-c", code], env=ours.env, capture_output=True, text=True)
    assert done.returncode == 1 and "make space there, or set TMPDIR to another directory" in done.stderr


def test_all_takes_every_cli_that_is_installed(ours: Home) -> None:
    """The others are listed with the way to get them."""
    ours.profile("zenith", "extends: zenith\nargs: [--trust]\n")
    done = ours.run("doctor", "--drive", "--all", "--timeout", LONG, check=False)
    assert done.returncode == 1 and "zenith zenith 7.0" in done.stdout, done.stdout + done.stderr
    if os.path.exists("/usr/bin/npm"):
        assert "not checked: " in done.stdout
