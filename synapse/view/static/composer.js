// The line in which a message is written: `@` completes the names of agents.

import {h, toast} from "./dom.js";

const MENTION = /(^|\s)@(\S*)$/u; // a name may have a machine: `codex@box`
const NAMED = /^@([\p{L}\p{N}_-]+(?:@[\p{L}\p{N}_.-]+)?)(?:\s+([^]+))?$/u; // `@file.py` is no name
const ALL = "all";

export class Composer {
  // `send` gets the agent, the text and the options; `agents` returns those that are running.
  constructor(send, agents) {
    this.send = send;
    this.agents = agents;
    this.drafts = new Map();
    this.sending = new Set(); // the agents on whose page a message is being sent
    this.found = [];
    this.field = h("textarea", {id: "message", rows: 1, spellcheck: true, autocomplete: "off"});
    for (const [name, value] of Object.entries({"aria-autocomplete": "list", "aria-controls": "names", "aria-expanded": "false", role: "combobox", "aria-haspopup": "listbox"})) this.field.setAttribute(name, value);
    this.names = h("ul", {id: "names", class: "names", role: "listbox", "aria-label": "Agents", hidden: true});
    this.priority = h("select", {"aria-label": "Priority"},
      ...["1 · in turn", "2", "3 · before lower", "4", "5 · interrupts"].map((label, place) => h("option", {value: String(place + 1)}, label)));
    this.wait = h("input", {type: "checkbox"});
    this.button = h("button", {class: "send", onclick: () => this.submit()}, "Send");
    this.element = h("section", {class: "composer", "aria-label": "Message"}, this.names, this.field,
      h("div", {class: "settings"}, this.priority, h("label", {class: "wait"}, this.wait, " tell me when it answers"), this.button));
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("input", () => this.complete());
    this.field.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }

  show(agent) {
    if (agent.id === this.agent?.id) {
      this.agent = agent;
      return;
    }
    if (this.agent) this.drafts.set(this.agent.id, this.field.value);
    this.agent = agent;
    this.field.value = this.drafts.get(agent.id) ?? "";
    this.drawButton();
    this.field.placeholder = `Message ${agent.name}, or @name for another`;
    this.field.setAttribute("aria-label", `Message ${agent.name}. At sign and a name sends it to another agent.`);
    this.grow();
  }

  complete() {
    this.grow();
    const match = MENTION.exec(this.field.value.slice(0, this.field.selectionStart));
    const typed = match?.[2].toLowerCase();
    this.found = match ? this.agents().filter((agent) => agent.name.toLowerCase().startsWith(typed)).slice(0, 8) : [];
    this.active = 0;
    this.draw();
  }

  draw() {
    const isOpen = this.found.length > 0;
    this.names.hidden = !isOpen;
    this.field.setAttribute("aria-expanded", String(isOpen));
    this.names.replaceChildren(...this.found.map((agent, place) =>
      h("li", {id: `name-${place}`, role: "option", "aria-selected": String(place === this.active), onmousedown: (event) => { event.preventDefault(); this.take(agent); }},
        h("span", {class: `dot ${agent.group}`, "aria-hidden": "true"}), agent.name, h("span", {class: "kind"}, ` ${agent.type}`))));
    if (isOpen) this.field.setAttribute("aria-activedescendant", `name-${this.active}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  close() {
    this.found = [];
    this.draw();
  }

  take(agent) {
    const at = this.field.selectionStart, before = this.field.value.slice(0, at).replace(MENTION, `$1@${agent.name} `);
    const after = this.field.value.slice(at);
    this.field.value = before + after;
    this.field.setSelectionRange(before.length, before.length);
    this.close();
    this.field.focus();
  }

  onKey(event) {
    if (event.isComposing) return;
    const {key} = event;
    if (this.found.length && ["ArrowDown", "ArrowUp", "Tab", "Enter", "Escape"].includes(key)) {
      event.preventDefault();
      event.stopPropagation();
      if (key === "Escape") this.close();
      else if (key === "Tab" || key === "Enter") this.take(this.found[this.active]);
      else {
        this.active = (this.active + (key === "ArrowDown" ? 1 : this.found.length - 1)) % this.found.length;
        this.draw();
      }
    } else if (key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  // The agents that are meant: those that the line begins with, or the one that is shown. Throws if no agent has the name:
  // what is meant for one agent must not go to another. Sent once more as it is, it goes to the agent that is shown.
  targets(text) {
    const match = NAMED.exec(text);
    if (!match || (this.refused?.id === this.agent.id && this.refused.text === text)) return {agents: [this.agent], text};
    const name = match[1].toLowerCase();
    const agents = this.agents().filter((agent) => (name === ALL ? !agent.name.includes("@") : agent.name.toLowerCase() === name));
    if (agents.length && !match[2]) throw new Error(`There is no message behind @${match[1]}.`);
    if (agents.length) return {agents, text: match[2]};
    this.refused = {id: this.agent.id, text};
    throw new Error(`Not sent: no running agent is called ${match[1]}. Correct the name, or send it again to give it to ${this.agent.name} as it is.`);
  }

  async submit() {
    const {id} = this.agent, written = this.field.value;
    if (!written.trim() || this.sending.has(id)) return;
    this.sending.add(id);
    this.drawButton();
    try {
      const {agents, text} = this.targets(written.trim());
      const options = {priority: Number(this.priority.value), wait: this.wait.checked};
      const done = await Promise.allSettled(agents.map((agent) => this.send(agent, text, options)));
      done.forEach(({reason}, place) => reason && toast(agents.length > 1 ? `${agents[place].name}: ${reason.message}` : reason.message, true));
      if (done.some(({status}) => status === "fulfilled")) this.sent(id, written);
    } catch (error) {
      toast(error.message, true);
    } finally {
      this.sending.delete(id);
      this.drawButton();
    }
  }

  // What was written in the meantime, or to another agent, stays.
  sent(id, written) {
    this.refused = null;
    if (this.agent.id !== id) {
      if (this.drafts.get(id) === written) this.drafts.delete(id);
    } else if (this.field.value === written) {
      this.field.value = "";
      this.priority.value = "1";
      this.grow();
    }
  }

  drawButton() {
    this.button.disabled = this.sending.has(this.agent.id);
    this.button.textContent = this.button.disabled ? "Sending …" : "Send";
  }

  grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, 180)}px`;
  }
}
