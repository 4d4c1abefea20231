// All tasks of all agents, the newest first: who asked whom, when, and for how long.

import {clock, h, keyed, took} from "./dom.js";
import {stateOf} from "./thread.js";

const ENDED = ["completed", "failed", "canceled"];

export class Timeline {
  constructor(element, open, now) {
    this.open = open;
    this.now = now;
    this.rows = h("ol", {class: "line"});
    this.none = h("p", {class: "none"}, "No task has been sent yet.");
    element.append(h("h2", {}, "All tasks"), this.none, this.rows);
    this.shown = new Map();
  }

  show(tasks) {
    this.none.hidden = tasks.length > 0;
    const sorted = [...tasks].sort((a, b) => b.task.created_at.localeCompare(a.task.created_at)).slice(0, 500);
    const first = Math.min(...sorted.map(({task}) => Date.parse(task.created_at)), this.now() - 60000);
    const scale = {first, length: Math.max(this.now() - first, 1)};
    keyed(this.rows, sorted, ({agent, task}) => `${agent.id}/${task.id}`, () => this.make(), (element, item) => this.update(element, item, scale));
  }

  make() {
    const parts = {time: h("time", {}), from: h("span", {class: "from"}), to: h("span", {class: "to"}), text: h("span", {class: "text"}), state: h("span", {class: "what"}), bar: h("span", {class: "lasted"}), took: h("span", {class: "took"})};
    const button = h("button", {}, parts.time, h("span", {class: "who-whom"}, parts.from, h("span", {class: "arrow", "aria-label": "asked"}, "→"), parts.to), parts.text, parts.state, h("span", {class: "track", "aria-hidden": "true"}, parts.bar), parts.took);
    return Object.assign(h("li", {}, button), {parts, button});
  }

  update(element, {agent, task}, scale) {
    const began = Date.parse(task.created_at), end = ENDED.includes(task.state) ? Date.parse(task.updated_at) : this.now();
    const {parts} = element;
    parts.bar.style.left = `${((began - scale.first) / scale.length) * 100}%`;
    parts.bar.style.width = `${Math.max(((end - began) / scale.length) * 100, 0.6)}%`;
    parts.took.textContent = took((end - began) / 1000);
    if (this.shown.get(element.dataset.key) === task) return;
    this.shown.set(element.dataset.key, task);
    element.className = task.state;
    parts.time.textContent = clock(task.created_at);
    parts.time.dateTime = task.created_at;
    parts.from.textContent = task.sender === "user" ? "you" : task.sender;
    parts.to.textContent = agent.name;
    parts.text.textContent = task.text.split("\n")[0];
    parts.state.replaceChildren(stateOf(task));
    element.button.onclick = () => this.open(agent.id);
  }
}
