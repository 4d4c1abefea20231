// The dialogs: start an agent, stop one, the keys.

import {h, toast} from "./dom.js";

function dialog(title, ...content) {
  const made = h("dialog", {"aria-label": title}, h("h2", {}, title), ...content);
  document.body.append(made);
  made.addEventListener("close", () => made.remove());
  made.showModal();
  return made;
}

export function startDialog(profiles, directories, start) {
  const profile = h("select", {id: "profile"}, profiles.map((name) => h("option", {value: name}, name)));
  const directory = h("input", {id: "directory", list: "directories", value: directories[0] ?? "", autocomplete: "off", spellcheck: false});
  const name = h("input", {id: "name", autocomplete: "off", spellcheck: false, placeholder: "optional"});
  const problem = h("p", {class: "note error", role: "alert"});
  const button = h("button", {class: "send", type: "submit"}, "Start");
  const form = h("form", {method: "dialog"},
    h("label", {for: "profile"}, "Profile"), profile,
    h("label", {for: "directory"}, "Directory"), directory, h("datalist", {id: "directories"}, directories.map((one) => h("option", {value: one}))),
    h("label", {for: "name"}, "Name"), name, problem,
    h("div", {class: "buttons"}, h("button", {type: "button", class: "quiet", onclick: () => made.close()}, "Close"), button));
  const made = dialog("Start an agent", form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    try {
      toast((await start({profile: profile.value, directory: directory.value, name: name.value})).said);
      made.close();
    } catch (error) {
      problem.textContent = error.message;
    }
    button.disabled = false;
  });
}

export function confirmDialog(title, text, label, act) {
  const button = h("button", {class: "danger", onclick: () => { made.close(); act(); }}, label);
  const made = dialog(title, h("p", {}, text), h("div", {class: "buttons"}, h("button", {class: "quiet", onclick: () => made.close()}, "Close"), button));
}

export function helpDialog() {
  const keys = [["j, k or arrows", "move in the list of agents"], ["Enter", "show the agent"], ["n", "go to the next agent that needs you"], ["1 … 9", "answer with that option"], ["m", "write a message"], ["t", "type into the terminal"], ["Ctrl+]", "stop typing into the terminal"], ["g", "change between agents and timeline"], ["Escape", "back to the list"], ["?", "this list"]];
  const made = dialog("Keys", h("dl", {class: "keys-list"}, keys.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("div", {class: "buttons"}, h("button", {class: "send", onclick: () => made.close()}, "Close")));
}
