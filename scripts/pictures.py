"""Makes the pictures of the README from real runs: `make pictures`. Needs Chromium.

The page is a new run. The terminal is the recording docs/at-codex.cast (tests/real/scene.py makes it).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from scripts.cast_svg import animate  # noqa: E402
from tests.support.home import new_home, wait  # noqa: E402
from tests.support.view_server import running_view  # noqa: E402
from tests.web.page import Page  # noqa: E402

DOCS = ROOT / "docs"
REVIEW = (
    "say ## Review\\n\\nTwo findings in `cart.py`:\\n\\n1. **`total()` rounds too early.** "
    "Round once, at the end.\\n2. `discount` may be negative: refuse it.\\n\\nThe tests pass."
)


SCENE = "At Claude Code's own prompt, @codex sends Codex a message; its reply comes over the screen"
CAPTIONS = {
    "": "At Claude Code's own prompt: a line that begins with @codex is for Codex.",
    "sent": "Codex works on it. The prompt is free: go on typing.",
    "the reply": "Ctrl-] o opens the reply.",
    "handed over": "i gives the reply to Claude.",
}


def terminal() -> None:
    made = animate(DOCS / "at-codex.cast", SCENE, CAPTIONS, still="the reply")
    (DOCS / "at-codex.svg").write_text(made)
    print(f"wrote {DOCS / 'at-codex.svg'}")


def main() -> None:
    terminal()
    program = shutil.which("chromium")
    if program is None:
        sys.exit("there is no chromium: make chromium installs it")
    with new_home() as home, running_view(home) as view, sync_playwright() as playwright:
        for name in ("claude", "codex", "gemini", "tests"):
            home.run("start", "dummy", "--name", name, "--", "--tui")
        inside = home.inside("claude")
        home.run("send", "codex", "--return", REVIEW, **inside)
        home.run("send", "codex", "confirm Run `git push origin main`?", **inside)
        home.run("send", "tests", "lines 400 every 1")
        wait(lambda: home.agents()["codex"]["status"] == "INPUT_REQUIRED", "a question")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        with Page.opened(browser, view, (1180, 760), color_scheme="dark") as page:
            page.choose("codex")
            page.wait_for_text("git push")
            page.tab.wait_for_timeout(4500)
            page.tab.screenshot(path=DOCS / "view.png")
        browser.close()
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--output", DOCS / "view.png", DOCS / "view.png"], check=True)
    print(f"wrote {DOCS / 'view.png'}")


if __name__ == "__main__":
    main()
