"""Programs of which only the command is known: no text but the reply comes back as one."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.home import Home
from tests.support.running import Agent

# A full-screen program with a splash screen, a banner, an indented conversation and a framed composer. It
# shows no prompt that Synapse knows.
PROGRAM = """
import os, sys, time, tty
tty.setraw(0)
out = lambda text: os.write(1, text.encode())
out("\\x1b[?1049h\\x1b[2J\\x1b[5;20HGRAND SPLASH SCREEN")
time.sleep({splash})
talk, typed = [], ""

def paint():
    rows = ["", "     GRAND PROGRAM 1.0"] + [""] * 3 + talk
    rows += [""] * (18 - len(rows)) + ["   ┃", "   ┃  " + typed, "   ┃", "   ╹▀▀▀▀▀▀▀▀", "   status: fine"]
    out("\\x1b[H" + "".join(row + "\\x1b[K\\r\\n" for row in rows))
    out("\\x1b[20;%dH" % (7 + len(typed)))

out("\\x1b[?2004h")
paint()
while True:
    data = os.read(0, 4096).decode()
    for part in ("\\x1b[200~", "\\x1b[201~"):
        data = data.replace(part, "")
    text, enter, _ = data.partition("\\r")
    typed += text
    paint()
    if enter:
        asked, typed = typed, ""
        talk += ["     ┃ " + asked, ""]
        paint()
        time.sleep(0.3)
        if "quietly" not in asked:
            talk += ["     The answer to " + asked.split()[-1], "     has two rows.", ""]
        paint()
"""
QUICK = "idle_detection: {timeout: 0.7}\n"  # instead of after 2 s of silence


def started(home: Home, splash: float = 0.0) -> Agent:
    path = home.path / "program.py"
    path.write_text(PROGRAM.replace("{splash}", str(splash)))
    home.profile("grand", f"command: [{sys.executable}, {path}]\n{QUICK}")
    home.run("start", "grand", "--name", "a")
    return Agent(home)


def about(task: dict[str, Any]) -> Any:
    return task["artifacts"][0]["metadata"]


def test_the_reply_and_nothing_around_it(home: Home) -> None:
    agent = started(home)
    for word in ("one", "two"):
        task = agent.until(agent.send(f"tell me {word}"))
        assert task["artifacts"][0]["data"] == f"The answer to {word}\nhas two rows."
        assert about(task)["source"] == "screen" and 0 < about(task)["confidence"] < 1
    agent.http.close()


def test_an_answer_of_nothing_is_empty(home: Home) -> None:
    agent = started(home)
    task = agent.until(agent.send("do it quietly"))
    assert (task["state"], task["artifacts"][0]["data"]) == ("completed", "")
    agent.http.close()


def test_a_splash_screen_is_neither_ready_nor_a_reply(home: Home) -> None:
    agent = started(home, splash=2.5)
    task = agent.until(agent.send("tell me one"))
    assert task["artifacts"][0]["data"] == "The answer to one\nhas two rows."
    agent.http.close()


def test_a_program_that_says_nothing_before_it_is_asked(home: Home) -> None:
    home.profile("mute", f"command: [sh, -c, 'while read x; do echo \"got $x\"; done']\n{QUICK}")
    home.run("start", "mute", "--name", "a")
    agent = Agent(home)
    assert agent.reply("hello").startswith("got [A2A:")
    agent.http.close()


def test_a_program_that_does_not_read_says_why_it_gets_nothing(home: Home) -> None:
    home.profile("deaf", "command: [sleep, '1000']\n")
    home.run("start", "deaf", "--name", "a")
    agent = Agent(home)
    note = agent.get(agent.send("hello"))["note"]
    assert note == "the agent has not shown yet that it takes input"
    agent.http.close()
