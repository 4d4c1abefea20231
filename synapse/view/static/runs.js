// The runs that are executed or have just ended, each with its steps.

import {h, keyed, say, took} from "./dom.js";

export class Runs {
  constructor(element, now, cancel) {
    this.now = now;
    this.cancel = cancel;
    this.list = h("ul", {class: "runs"});
    this.section = h("section", {hidden: true, "aria-label": "Runs"}, h("h2", {}, "Runs"), this.list);
    element.append(this.section);
  }

  show(runs) {
    this.section.hidden = runs.length === 0;
    keyed(this.list, runs, (run) => run.id, (run) => this.make(run.id), (element, run) => this.update(element, run));
  }

  make(id) {
    const line = h("span", {}), steps = h("ol", {});
    const button = h("button", {class: "quiet small", "aria-label": `Cancel the run ${id}`, onclick: () => this.cancel(id)}, "Cancel");
    return Object.assign(h("li", {}, h("details", {open: true}, h("summary", {}, line), steps), button), {line, steps, button});
  }

  update(element, run) {
    element.className = run.state;
    const used = run.tokens ? ` · ${run.tokens} tokens` : "";
    say(element.line, `${run.id} · ${run.state} · ${run.done} of ${run.total} steps${used}${run.error ? ` · ${run.error}` : ""}`);
    // A run that was killed or interrupted may have left tasks and workers.
    element.button.hidden = run.state !== "running" && !run.left;
    keyed(element.steps, run.steps, (step) => step.key, () => h("li", {}), (line, step) => {
      const lasted = took((step.ended_at || this.now() / 1000) - step.asked_at);
      line.className = `${step.state} depth-${Math.min(step.depth, 3)}`;
      const tokens = step.tokens ? ` · ${step.tokens} tokens` : "";
      say(line, `${step.key}  ${step.agent} · ${step.state} ${lasted}${tokens} · ${step.text}`);
    });
  }
}
