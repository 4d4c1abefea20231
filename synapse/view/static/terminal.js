// The terminal of an agent, drawn from the rows of its screen model. It never changes the agent's size.

import {h, say} from "./dom.js";
import {lookOf} from "./sgr.js";

const LARGEST = 14, SMALLEST = 8; // pixels of the font
const CHUNK = 200; // rows of scrollback that are asked for at once
const PADDING = 6; // pixels around the rows
const TYPING = 4; // seconds for which somebody counts as typing
// Characters that every monospaced font draws in one cell; each other one gets a cell of its own.
const PLAIN = /^[\u0020-\u024f\u0370-\u03ff\u0400-\u052f\u2500-\u259f]*$/u;
const SAFE_LINK = /^(https?|mailto):/i;
const NAMES = {
  Enter: "Enter", Escape: "Escape", Tab: "Tab", Backspace: "BSpace", Delete: "DC", Insert: "IC", ArrowUp: "Up",
  ArrowDown: "Down", ArrowLeft: "Left", ArrowRight: "Right", Home: "Home", End: "End", PageUp: "PPage", PageDown: "NPage",
};

// The elements of one row.
export function drawn(spans) {
  return spans.map((span) => {
    const width = span.width ?? 1;
    const characters = span.cluster ? [span.text] : width === 1 && PLAIN.test(span.text) ? null : [...span.text];
    const content = characters === null ? [span.text] : characters.map((one) => cell(one, width));
    const link = span.link && SAFE_LINK.test(span.link) ? span.link : "";
    if (!span.sgr && !link && characters === null) return span.text;
    const element = link ? h("a", {href: link, target: "_blank", rel: "noopener noreferrer"}) : document.createElement("span");
    element.append(...content);
    if (span.sgr) {
      const look = lookOf(span.sgr);
      if (look.classes.length) element.className = look.classes.join(" ");
      if (look.colour) element.style.color = look.colour;
      if (look.background) element.style.backgroundColor = look.background;
    }
    return element;
  });
}

function cell(text, width) {
  if (width === 1 && text === " ") return text;
  return h("span", {class: width === 2 ? "w2" : "w1"}, text);
}

export class Terminal {
  // `ask` sends a request about this agent; `moved` is called when typing begins or ends.
  constructor(ask, moved) {
    this.ask = ask;
    this.moved = moved;
    this.me = "";
    this.agent = null;
    this.rows = h("div", {class: "rows"});
    this.history = h("div", {class: "history"});
    this.cursor = h("div", {class: "cursor", "aria-hidden": "true"});
    this.more = h("button", {class: "more quiet", hidden: true, onclick: () => this.loadOlder()});
    this.grid = h("div", {class: "grid"}, this.history, h("div", {class: "live"}, this.rows, this.cursor));
    this.view = h("div", {class: "screen", tabindex: "0", role: "region"}, this.more, this.grid);
    this.input = h("textarea", {class: "keys", "aria-label": "Keys for the terminal", autocomplete: "off", autocapitalize: "off", spellcheck: false, rows: 1, tabIndex: -1});
    this.input.setAttribute("autocorrect", "off");
    this.button = h("button", {class: "type", "aria-pressed": "false", onclick: () => this.toggle()}, "Type into it");
    this.who = h("p", {class: "who", role: "status"});
    this.pad = h("div", {class: "pad", role: "toolbar", "aria-label": "Keys", hidden: true},
      ...[["Esc", "Escape"], ["Tab", "Tab"], ["Ctrl-C", "C-c"], ["↑", "Up"], ["↓", "Down"], ["←", "Left"], ["→", "Right"], ["⏎", "Enter"]].map(([label, key]) =>
        h("button", {"aria-label": key, onclick: () => { this.press([key]); this.input.focus(); }}, label)));
    this.element = h("section", {class: "terminal", "aria-label": "Terminal"}, this.view, this.input,
      h("div", {class: "under-screen"}, this.button, this.pad, this.who));
    this.bind();
    this.clear();
  }

  bind() {
    this.view.addEventListener("wheel", (event) => {
      if (event.deltaY < 0 && this.view.scrollTop === 0) this.loadOlder();
    }, {passive: true});
    this.view.addEventListener("scroll", () => {
      if (this.moving) this.moving = false;
      else this.follows = this.isAtEnd();
      if (this.view.scrollTop < 40 && this.from > 0 && this.from < this.to) this.loadOlder();
    }, {passive: true});
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("input", (event) => this.onText(event));
    this.input.addEventListener("compositionend", () => this.flush());
    this.input.addEventListener("paste", (event) => {
      event.preventDefault();
      this.ask({paste: event.clipboardData.getData("text/plain")}).catch((error) => this.fail(error));
    });
    this.input.addEventListener("focus", () => this.typing || this.setTyping(true));
    this.input.addEventListener("blur", () => this.setTyping(false));
    this.view.addEventListener("click", () => { if (this.typing && String(getSelection()) === "") this.input.focus(); });
    new ResizeObserver(() => this.fit()).observe(this.view);
  }

  isAtEnd() {
    const end = this.cursor.hidden ? this.rows.lastElementChild : this.cursor;
    return end === null || end.getBoundingClientRect().bottom <= this.view.getBoundingClientRect().bottom + 2;
  }

  clear() {
    this.state = null;
    this.rows.replaceChildren();
    this.dropHistory();
    this.follows = true;
    this.cursor.hidden = true;
    this.more.hidden = true;
  }

  show(agent, me) {
    if (this.agent?.id !== agent.id) {
      this.clear();
      this.setTyping(false);
    }
    this.agent = agent;
    this.me = me;
    this.view.setAttribute("aria-label", `Terminal of ${agent.name}`);
    this.tellWho();
  }

  // A frame of the screen: all rows, or those that changed.
  take(frame) {
    const isOther = !this.state || frame.snapshot || frame.cols !== this.state.cols;
    if (isOther) {
      this.dropHistory();
      this.rows.replaceChildren(...Array.from({length: frame.lines}, () => h("div", {class: "row"})));
    }
    this.state = frame;
    for (const [number, spans] of Object.entries(frame.rows)) this.rows.children[number]?.replaceChildren(...drawn(spans));
    if (isOther) this.fit();
    this.cursor.hidden = !frame.cursor.visible;
    this.cursor.style.left = `${frame.cursor.x}ch`;
    this.cursor.style.top = `calc(${frame.cursor.y} * var(--row))`;
    this.input.style.top = this.cursor.style.top;
    this.followHistory();
    this.tellMore();
    this.tellWho();
    this.follow();
  }

  // While nobody scrolls: show the end of what is written, and the cursor; below that there may be empty rows.
  follow() {
    if (!this.follows || !this.state) return;
    let last = this.rows.children.length - 1;
    while (last > 0 && this.rows.children[last].textContent.trim() === "") last--;
    const {cursor} = this.state;
    const row = this.rows.children[Math.max(last, cursor.visible ? cursor.y : 0)];
    if (!row) return;
    const hidden = row.getBoundingClientRect().bottom - this.view.getBoundingClientRect().bottom + PADDING;
    this.moving = true;
    this.view.scrollTop += hidden;
  }

  lost() {
    say(this.who, "The terminal cannot be seen at the moment: its host is being replaced, its machine does not answer, or the agent ends.");
  }

  fit() {
    if (!this.state || !this.view.clientWidth) return;
    this.probe ??= this.measure();
    const room = this.view.clientWidth - 16;
    const size = Math.min(LARGEST, Math.max(SMALLEST, Math.floor((room / (this.state.cols * this.probe)) * 4) / 4));
    this.grid.style.fontSize = `${size}px`;
    this.grid.style.width = `${this.state.cols}ch`;
    this.follow();
  }

  // The width of a cell for one pixel of the font's size.
  measure() {
    const probe = h("span", {class: "probe"}, "0".repeat(100));
    this.grid.append(probe);
    const width = probe.getBoundingClientRect().width / 100 / 100;
    probe.remove();
    return width || 0.6;
  }

  dropHistory() {
    this.history.replaceChildren();
    this.from = this.to = -1; // the rows of scrollback that are shown
    this.loading = false;
  }

  tellMore() {
    const above = this.from < 0 ? this.state.history : this.from;
    this.more.hidden = above === 0;
    say(this.more, `${above.toLocaleString("en")} ${above === 1 ? "row" : "rows"} above`);
  }

  async loadOlder() {
    if (this.loading || !this.state) return;
    if (this.from < 0) this.from = this.to = this.state.history;
    const first = Math.max(this.from - CHUNK, 0);
    if (first < this.from) await this.load(first, this.from - first, true);
  }

  // New rows have left the screen: they belong to the scrollback that is shown.
  followHistory() {
    if (this.from < 0 || this.loading) return;
    const total = this.state.history;
    if (total < this.to || total - this.to > 5 * CHUNK) this.dropHistory();
    else if (total > this.to) this.load(this.to, Math.min(total - this.to, CHUNK), false);
  }

  async load(first, count, isOlder) {
    this.loading = true;
    const agent = this.agent.id;
    try {
      const {rows} = await this.ask({rows: {first, count}});
      if (agent !== this.agent.id || this.from < 0) return;
      const made = rows.map((spans) => h("div", {class: "row"}, drawn(spans)));
      const height = this.view.scrollHeight;
      if (isOlder) {
        this.history.prepend(...made);
        this.from = first;
        this.follows = false;
        this.view.scrollTop += this.view.scrollHeight - height;
      } else {
        this.history.append(...made);
        this.to += made.length;
        this.follow();
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.loading = false;
    }
    if (this.state) {
      this.tellMore();
      this.followHistory();
    }
  }

  toggle() {
    if (this.typing) this.stop();
    else this.input.focus();
  }

  stop() {
    this.setTyping(false);
    this.input.blur();
    this.button.focus();
  }

  setTyping(typing) {
    if (this.typing === typing) return;
    this.typing = typing;
    this.element.classList.toggle("typing", typing);
    this.button.setAttribute("aria-pressed", String(typing));
    say(this.button, typing ? "Stop typing" : "Type into it");
    this.pad.hidden = !typing;
    this.tellWho();
    this.moved(typing);
  }

  tellWho() {
    clearTimeout(this.whoTimer);
    const last = this.state?.typing;
    const age = last && this.now ? this.now() / 1000 - last.at : Infinity;
    const others = last && last.by !== this.me && age < TYPING;
    const name = this.agent?.name ?? "";
    const by = last?.by === "terminal" ? "Somebody at its own terminal" : last?.by?.startsWith("view ") ? "Another page" : `${(last?.by ?? "").replace(/^./, (c) => c.toUpperCase())}`;
    if (others) {
      say(this.who, `${by} is typing into ${name}.`);
      this.whoTimer = setTimeout(() => this.tellWho(), TYPING * 1000);
    } else say(this.who, this.typing ? `You are typing into ${name}. Ctrl+] stops.` : "");
  }

  onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.ctrlKey && (event.key === "]" || event.code === "BracketRight")) {
      event.preventDefault();
      this.stop();
      return;
    }
    const name = keyName(event);
    if (name === null) return;
    event.preventDefault();
    this.press([name]);
  }

  onText(event) {
    if (!event.isComposing) this.flush();
  }

  // Each character by itself, so that no text is taken for the name of a key.
  flush() {
    const text = this.input.value;
    this.input.value = "";
    if (text) this.press([...text].map((one) => (one === "\n" ? "Enter" : one)));
  }

  press(keys) {
    this.follows = true;
    this.ask({keys}).catch((error) => this.fail(error));
  }

  fail(error) {
    say(this.who, error.message);
  }
}

// The name of a key as tmux has it; null for one that types a character, or that belongs to the browser.
function keyName(event) {
  if (event.metaKey) return null;
  const copies = event.ctrlKey && !event.altKey && event.key.toLowerCase() === "c" && String(getSelection()) !== "";
  const pastes = event.ctrlKey && event.key.toLowerCase() === "v";
  if (copies || pastes) return null;
  const named = NAMES[event.key] ?? (/^F([1-9]|1[0-2])$/.test(event.key) ? event.key : null);
  if (named === null && (event.key.length !== 1 || !(event.ctrlKey || event.altKey) || event.getModifierState("AltGraph"))) return null;
  const key = named ?? event.key.toLowerCase();
  const shift = event.shiftKey && named !== null ? "S-" : "";
  return `${event.ctrlKey ? "C-" : ""}${event.altKey ? "M-" : ""}${shift}${key}`;
}
