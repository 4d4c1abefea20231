"""Acme, a CLI that nobody has heard of: a composer between waves, answers behind ◊, errors behind ¤."""

from __future__ import annotations

import json
import sys

WAVES = "≈" * 60


def note(**line: str) -> None:
    for word in sys.argv:
        if word.startswith("--journal="):
            with open(word.removeprefix("--journal="), "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def compose() -> str:
    print(f"{WAVES}\n§ \n{WAVES}\x1b[A\r\x1b[2C", end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        raise SystemExit  # the terminal is closed
    print("\x1b[2A\r\x1b[J", end="")
    return line.rstrip("\n")


def choose() -> str:
    print("run: rm -rf build\n\nMay I?\n☞ 1. Yes\n  2. No", end="\x1b[A\r", flush=True)
    choice = sys.stdin.readline().strip()
    print("\n")
    return choice


def main() -> None:
    print("Acme 1.0\n")
    while True:
        line = compose()
        if not line:
            continue
        print(f"§ {line}\n", flush=True)
        note(asked=line)
        if line.endswith("break"):
            print("¤ 429 too many requests\n")
            note(broke="the plan is used up")
        elif line.endswith("ask"):
            choice = choose()
            print(f"◊ You said {choice}.\n")
            note(answered=f"**{choice}**")
        else:
            print("◊ Said and\n  done.\n")
            note(answered="said *and* done")


main()
