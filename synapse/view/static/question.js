// What an agent asks, with the question's own options as buttons.

import {h, toast} from "./dom.js";

export class QuestionCard {
  constructor(answer) {
    this.answer = answer;
    this.id = null;
    this.element = h("section", {class: "question", role: "group", hidden: true});
  }

  show(agent) {
    const question = agent?.question ?? null;
    const id = question ? `${agent.id}/${question.id}` : null;
    if (id === this.id) return;
    this.id = id;
    this.options = question?.options ?? [];
    this.unseen = Boolean(question?.unseen);
    this.element.hidden = question === null;
    this.element.replaceChildren(...(question ? this.content(agent, question) : []));
    if (question) this.element.setAttribute("aria-label", `${agent.name} asks`);
  }

  content(agent, question) {
    const detail = question.detail && question.detail !== question.subject ? question.detail : "";
    return [
      h("p", {class: "asks"}, h("strong", {}, agent.name), " asks", question.task ? " in a task" : "", ": ", h("span", {class: "words"}, question.question)),
      question.subject && !detail.startsWith(question.subject) ? h("p", {class: "subject"}, h("code", {}, question.subject)) : null,
      detail ? h("pre", {class: "detail", tabindex: "0", "aria-label": "All of it"}, detail) : null,
      question.unseen ? h("p", {class: "warning"}, question.unseen.replaceAll("<name>", agent.name)) : null,
      question.options.length ? this.buttons(agent, question) : this.form(agent, question),
    ].filter(Boolean);
  }

  buttons(agent, question) {
    return h("div", {class: "options"}, question.options.map((option, place) =>
      h("button", {class: place === 0 ? "option first" : "option", onclick: () => this.give(agent, question, question.unseen ? option.label : option.key)},
        place < 9 && !question.unseen ? h("kbd", {}, String(place + 1)) : null, " ", option.label)));
  }

  form(agent, question) {
    const isSecret = question.type === "password";
    const field = h("input", {type: isSecret ? "password" : "text", "aria-label": isSecret ? "The secret" : "Your answer", autocomplete: "off"});
    const button = h("button", {class: "option first", onclick: () => this.give(agent, question, field.value)}, "Answer");
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) button.click();
    });
    return h("div", {class: "options"}, field, button, question.default ? h("span", {class: "hint"}, `empty: ${question.default}`) : null);
  }

  // A digit presses the option with that number, unless nobody sees the question, or all that it would run.
  press(number) {
    const buttons = this.element.querySelectorAll("button.option");
    if (!this.element.checkVisibility() || this.options.length === 0 || !buttons[number - 1]) return false;
    if (this.unseen) {
      toast("look at its screen first, and press the option itself", true);
      return true;
    }
    buttons[number - 1].click();
    return true;
  }

  async give(agent, question, said) {
    for (const button of this.element.querySelectorAll("button")) button.disabled = true;
    try {
      await this.answer(agent, question, said);
    } catch (error) {
      toast(error.message, true);
      for (const button of this.element.querySelectorAll("button")) button.disabled = false;
    }
  }
}
