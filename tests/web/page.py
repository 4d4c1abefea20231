"""The page in a browser, with what the tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Page as Tab

from tests.support.view_server import View

PATIENCE = 30_000  # milliseconds
WIDE, PHONE = (1280, 800), (320, 640)

# The text of each row of the terminal, and where each of its characters is drawn, in cells.
ROWS = """() => {
  const rows = [...document.querySelectorAll('.rows .row')];
  const probe = document.createElement('span');
  probe.textContent = '0'.repeat(100);
  document.querySelector('.grid').append(probe);
  const cell = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return rows.map(row => {
    const left = row.getBoundingClientRect().left, places = [];
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
      const wrapped = node.parentElement.closest('.w1, .w2');
      let at = 0;
      for (const character of wrapped ? [node.textContent] : [...node.textContent]) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at += character.length);
        const box = wrapped ? wrapped.getBoundingClientRect() : range.getBoundingClientRect();
        places.push([character, (box.left - left) / cell, box.width / cell]);
      }
    }
    return {text: row.textContent, places};
  });
}"""

# Elements without a name, and texts whose contrast is too low. The terminal's colours are the agent's.
FAULTS = """() => {
  const faults = [], seen = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const parse = text => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d');
    canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > .99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const used = 'button, a[href], input, textarea, select, [role=region], [role=group], nav';
  for (const e of document.querySelectorAll(used)) {
    if (!seen(e)) continue;
    const name = e.getAttribute('aria-label') || e.textContent.trim()
      || [...(e.labels ?? [])].map(l => l.textContent.trim()).join('');
    if (!name) faults.push('no name: ' + e.outerHTML.slice(0, 120));
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !seen(e) || e.closest('.grid, .unseen, script, option, [disabled]')) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(ground(e));
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 40)} (${e.className})`);
  }
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  for (const id of new Set(ids)) if (ids.filter(one => one === id).length > 1) faults.push('id twice: ' + id);
  if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window');
  return faults;
}"""


class Page:
    def __init__(self, tab: Tab, view: View) -> None:
        self.tab = tab
        self.view = view
        self.problems: list[str] = []
        self.requested: list[str] = []
        tab.set_default_timeout(PATIENCE)
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("console", lambda message: self._console(message.type, message.text))
        tab.on("request", lambda request: self.requested.append(request.url))

    @classmethod
    @contextmanager
    def opened(
        cls, browser: Browser, view: View, size: tuple[int, int] = WIDE, **more: Any
    ) -> Iterator[Page]:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **more)
        page = cls(context.new_page(), view)
        page.tab.goto(view.fresh())
        expect(page.tab.locator("button.agent").first).to_be_visible(timeout=PATIENCE)
        yield page
        context.close()
        assert page.problems == []
        others = [
            url for url in page.requested if not url.startswith((view.base, view.base.replace("http", "ws")))
        ]
        assert others == []  # nothing is loaded from elsewhere

    def _console(self, kind: str, text: str) -> None:
        if kind == "error" and "WebSocket" not in text:  # a lost connection is an error to the browser
            self.problems.append(text)

    def choose(self, name: str) -> None:
        self.item(name).click()
        expect(self.tab.locator(".agent-name")).to_have_text(name, timeout=PATIENCE)

    def item(self, name: str) -> Locator:
        return self.tab.locator("button.agent").filter(has=self.tab.get_by_text(name, exact=True))

    def group(self, name: str, member: str) -> Locator:
        return self.tab.locator(f".group.{name} button.agent").filter(has_text=member)

    def rows(self) -> list[dict[str, Any]]:
        return list(self.tab.evaluate(ROWS))

    def text(self) -> str:
        return "\n".join(str(row["text"]).rstrip() for row in self.rows()).rstrip("\n")

    def wait_for_text(self, text: str) -> None:
        expect(self.tab.locator(".rows")).to_contain_text(text, timeout=PATIENCE)

    def send(self, text: str) -> None:
        field = self.tab.locator("#message")
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_value("", timeout=PATIENCE)

    def faults(self) -> list[str]:
        return list(self.tab.evaluate(FAULTS))
