// The tasks of an agent: who asked whom, each step of the delivery, and the reply.

import {clock, h, keyed, took} from "./dom.js";

const ENDED = ["completed", "failed", "canceled"];
const WORDS = {submitted: "waiting", working: "working", input_required: "asks", completed: "done", failed: "failed", canceled: "canceled"};
const TAGS = new Set(["p", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "hr", "strong", "em", "s", "br", "code", "pre", "a", "span", "h3", "h4", "h5", "h6"]);

// The elements of a reply in Markdown. Its text is text; its links are opened beside this page.
export function markdown(elements) {
  return elements.map((element) => {
    if (typeof element === "string") return element;
    const made = document.createElement(TAGS.has(element.tag) ? element.tag : "span");
    made.append(...markdown(element.children));
    if (element.tag === "a") Object.assign(made, {href: element.href, target: "_blank", rel: "noopener noreferrer"});
    if (element.tag === "ol" && element.start !== 1) made.start = element.start;
    if (element.tag === "pre") {
      made.tabIndex = 0;
      made.setAttribute("role", "region");
      made.setAttribute("aria-label", element.language ? `Code in ${element.language}` : "Code");
    }
    return made;
  });
}

// A tool that somebody denied has not failed, and nobody canceled the task.
export function wordOf(task) {
  return task.code === "DENIED" ? "denied" : WORDS[task.state] ?? task.state;
}

export function stateOf(task) {
  return h("span", {class: `state ${task.state}`}, wordOf(task));
}

export class Thread {
  constructor(cancel, open, age) {
    this.cancel = cancel;
    this.open = open;
    this.age = age;
    this.tasks = h("ol", {class: "tasks"});
    this.none = h("p", {class: "none"}, "No message has been sent to it yet.");
    this.element = h("section", {class: "thread", "aria-label": "Tasks", tabindex: "0"}, this.none, this.tasks);
    this.shown = new Map();
    this.follows = true; // its end is kept in sight, until somebody scrolls up
    this.top = 0;
    this.element.addEventListener("scroll", () => this.scrolled());
    new ResizeObserver(() => this.follow()).observe(this.element);
  }

  scrolled() {
    const {scrollTop, clientHeight, scrollHeight} = this.element;
    this.follows = scrollTop + clientHeight >= scrollHeight - 8 || (this.follows && scrollTop >= this.top);
    this.top = scrollTop;
  }

  // A scroll event comes a frame late: what was scrolled since then is looked at first.
  follow() {
    this.scrolled();
    if (this.follows) this.element.scrollTop = this.element.scrollHeight;
    this.top = this.element.scrollTop;
  }

  // `tasks` are those that it received and those that it sent, the oldest first.
  show(agent, tasks) {
    this.scrolled();
    if (agent.id !== this.agent) {
      this.agent = agent.id;
      this.shown.clear();
      this.tasks.replaceChildren();
      this.follows = true;
      this.top = 0;
    }
    this.none.hidden = tasks.length > 0;
    keyed(this.tasks, tasks, (item) => `${item.agent.id}/${item.task.id}`, () => h("li", {class: "task"}), (made, item) => this.update(made, item, agent));
    this.follow();
  }

  update(element, {agent, task}, selected) {
    if (this.shown.get(element.dataset.key) === task) return;
    this.shown.set(element.dataset.key, task);
    const isOpen = element.querySelector("details")?.open ?? false;
    const isOther = agent.id !== selected.id;
    element.className = `task ${task.state}`;
    element.replaceChildren(...[
      h("header", {},
        h("span", {class: "from"}, task.sender === "user" ? "you" : task.sender), h("span", {class: "arrow", "aria-label": "to"}, "→"),
        isOther ? h("button", {class: "link to", onclick: () => this.open(agent.id)}, agent.name) : h("span", {class: "to"}, agent.name),
        h("time", {datetime: task.created_at}, clock(task.created_at)), stateOf(task),
        task.priority > 1 ? h("span", {class: "priority"}, `priority ${task.priority}`) : null,
        ENDED.includes(task.state) ? null : h("button", {class: "quiet small", onclick: () => this.cancel(agent, task)}, "Cancel")),
      h("p", {class: "message"}, task.text),
      task.note ? h("p", {class: "note"}, task.note) : null,
      task.error && task.error !== task.note ? h("p", {class: "note error"}, task.error) : null,
      task.receipts?.length ? receipts(task, isOpen) : null,
      task.reply ? h("div", {class: "reply markdown"}, markdown(task.reply.elements)) : null,
      task.reply?.confidence < 1 ? h("p", {class: "note"}, `Read from the screen (${Math.round(task.reply.confidence * 100)} % sure).`) : null,
    ].filter(Boolean));
  }
}

function receipts(task, isOpen) {
  const began = Date.parse(task.receipts[0].at);
  const last = task.receipts.at(-1);
  const steps = task.receipts.map((receipt) => {
    const {step, at, ...evidence} = receipt;
    const more = Object.entries(evidence).filter(([, value]) => typeof value !== "object").map(([key, value]) => `${key} ${value}`).join(", ");
    return h("li", {}, h("span", {class: "step"}, step.replaceAll("_", " ")), " ", h("time", {datetime: at}, `+${((Date.parse(at) - began) / 1000).toFixed(2)} s`), more ? h("span", {class: "evidence"}, ` ${more}`) : null);
  });
  const lasted = ENDED.includes(task.state) ? `, ${took((Date.parse(task.updated_at) - began) / 1000)}` : "";
  return h("details", {class: "receipts", open: isOpen}, h("summary", {}, `${task.receipts.length} receipts, last: ${last.step.replaceAll("_", " ")}${lasted}`), h("ol", {}, steps));
}
