// The list of agents: who needs you, who works, who is idle, each with one line.

import {h, keyed, say, span} from "./dom.js";

const GROUPS = [["needs_you", "Needs you"], ["working", "Working"], ["idle", "Idle"]];

// What an agent does, in one line: what it asks, or what it works on and for whom.
export function lineOf(agent) {
  if (!agent.connected && agent.status !== "READY") return "connecting …";
  const {question, work} = agent;
  if (question) return `asks: ${question.subject || question.question}`;
  if (agent.menu) return `a menu is open at its terminal${agent.waiting ? `, and ${agent.waiting} waiting behind it` : ""}: ${agent.menu}`;
  if (agent.group === "needs_you") return "asks something";
  if (work) {
    const what = work.text || "something that was typed";
    return work.task ? `for ${work.from === "user" ? "you" : work.from}: ${what}` : what;
  }
  if (agent.group === "working") return "busy";
  return agent.waiting ? `${agent.waiting} waiting` : "ready";
}

export function sinceOf(agent) {
  return agent.question?.asked_at ?? agent.work?.since ?? agent.since;
}

export class List {
  constructor(element, chosen, age) {
    this.element = element;
    this.chosen = chosen;
    this.age = age;
    this.empty = h("div", {class: "empty", hidden: true},
      h("p", {}, "No agent is running."),
      h("p", {}, "Run ", h("code", {}, "synapse claude"), " in a terminal, or start one here."));
    this.groups = new Map(GROUPS.map(([name, title]) => {
      const list = h("ul", {});
      const count = h("span", {class: "count"});
      return [name, {list, count, section: h("section", {class: `group ${name}`, "aria-label": title}, h("h2", {}, title, " ", count), list)}];
    }));
    element.append(this.empty, ...[...this.groups.values()].map(({section}) => section));
    element.addEventListener("keydown", (event) => this.onKey(event));
  }

  show(agents, selected) {
    this.empty.hidden = agents.length > 0;
    for (const [name, {list, count, section}] of this.groups) {
      const members = agents.filter((agent) => agent.group === name);
      members.sort((a, b) => (name === "needs_you" ? sinceOf(a).localeCompare(sinceOf(b)) : a.name.localeCompare(b.name)));
      section.hidden = members.length === 0;
      say(count, String(members.length));
      keyed(list, members, (agent) => agent.id, (agent) => this.make(agent), (element, agent) => this.update(element, agent, selected));
    }
  }

  make(agent) {
    const parts = {name: h("span", {class: "name"}), kind: h("span", {class: "kind"}), age: h("span", {class: "age"}), line: h("span", {class: "line"})};
    const button = h("button", {class: "agent", onclick: () => this.chosen(agent.id)},
      h("span", {class: "first"}, h("span", {class: "dot", "aria-hidden": "true"}), parts.name, parts.kind, parts.age), parts.line);
    return Object.assign(h("li", {}, button), {parts, button});
  }

  update(element, agent, selected) {
    say(element.parts.name, agent.name);
    say(element.parts.kind, agent.name === agent.type ? "" : agent.type);
    say(element.parts.line, `${lineOf(agent)}${agent.connected ? "" : " · not connected"}`);
    say(element.parts.age, span(this.age(sinceOf(agent))));
    element.button.toggleAttribute("aria-current", agent.id === selected);
    if (agent.id === selected) element.button.setAttribute("aria-current", "true");
    element.button.title = agent.directory;
  }

  onKey(event) {
    const step = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1}[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    const buttons = [...this.element.querySelectorAll("button.agent")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }
}
