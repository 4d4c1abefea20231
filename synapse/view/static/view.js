// The page of `synapse view`: joins the connection, the list, the terminal, the thread and the composer.

import {List, lineOf, sinceOf} from "./agents.js";
import {Composer} from "./composer.js";
import {Connection} from "./connection.js";
import {confirmDialog, helpDialog, startDialog} from "./dialogs.js";
import {announce, h, say, span, toast} from "./dom.js";
import {QuestionCard} from "./question.js";
import {Runs} from "./runs.js";
import {Terminal} from "./terminal.js";
import {Thread, wordOf} from "./thread.js";
import {Timeline} from "./timeline.js";

const $ = (id) => document.getElementById(id);
const state = {agents: new Map(), tasks: new Map(), selected: null, tab: "agents", hello: {profiles: [], directory: "", me: ""}, waited: new Map(), watched: null, runs: []};

const connection = new Connection(take, connectionChanged);
const ask = (request) => connection.ask({agent: state.selected, ...request});
const list = new List($("list"), choose, (at) => connection.age(at));
const terminal = new Terminal(ask, () => {});
terminal.now = () => connection.now();
const question = new QuestionCard(answer);
const thread = new Thread(cancel, choose, (at) => connection.age(at));
const composer = new Composer(send, () => [...state.agents.values()]);
const runs = new Runs($("timeline"), () => connection.now(), cancelRun);
const timeline = new Timeline($("timeline"), choose, () => connection.now());

const head = {name: h("h2", {class: "agent-name"}), about: h("p", {class: "about"}), line: h("p", {class: "agent-line"})};
const actions = {
  back: h("button", {class: "back quiet", "aria-label": "Back to the agents", onclick: () => back()}, "←"),
  interrupt: h("button", {class: "quiet", onclick: () => act({interrupt: true})}, "Interrupt"),
  stop: h("button", {class: "quiet", onclick: () => stop()}, "Stop"),
};
const nothing = h("p", {class: "none choose"}, "Choose an agent.");
const shown = h("div", {class: "shown", hidden: true},
  h("header", {class: "head"}, actions.back, h("div", {class: "titles"}, head.name, head.about, head.line), actions.interrupt, actions.stop),
  question.element, terminal.element, thread.element, composer.element);
$("main").append(nothing, shown);

function take(frame) {
  if (frame.type === "hello") {
    state.hello = frame;
    state.runs = [];
    state.known = new Set();
    clearTimeout(state.sweep);
    state.sweep = setTimeout(sweep, 1500);
  } else if (frame.type === "agent") {
    state.known?.add(frame.agent.id);
    const before = state.agents.get(frame.agent.id);
    state.agents.set(frame.agent.id, frame.agent);
    if (frame.agent.question && frame.agent.question.id !== before?.question?.id) announce(`${frame.agent.name} ${lineOf(frame.agent)}`);
  } else if (frame.type === "gone") forget(frame.agent, frame.name);
  else if (frame.type === "task") takeTask(frame);
  else if (frame.type === "runs") state.runs = frame.runs;
  else if (frame.type === "screen") {
    if (frame.agent === state.selected) terminal.take(frame);
    return;
  } else if (frame.type === "unseen") {
    if (frame.agent === state.selected) terminal.lost();
    return;
  }
  draw();
}

// After a reconnection: agents that ended in the meantime.
function sweep() {
  for (const [id, agent] of state.agents) if (!state.known.has(id)) forget(id, agent.name);
  draw();
}

function forget(id, name) {
  if (state.agents.delete(id)) toast(`${name} has ended.`);
  state.tasks.delete(id);
  if (state.selected === id) {
    if (shown.contains(document.activeElement) && document.activeElement.matches("input, textarea")) deafUntil = performance.now() + PAUSE;
    state.selected = state.watched = null;
    document.body.dataset.pane = "list";
    if (terminal.typing) terminal.stop();
  }
}

function takeTask({agent, task}) {
  if (!state.tasks.has(agent)) state.tasks.set(agent, new Map());
  const tasks = state.tasks.get(agent), before = tasks.get(task.id);
  tasks.set(task.id, {receipts: before?.receipts, reply: before?.reply, ...task});
  const isEnd = ["completed", "failed", "canceled"].includes(task.state);
  if (isEnd && state.waited.has(task.id)) {
    toast(`${state.waited.get(task.id)}: ${task.state === "completed" ? "the reply is there." : `the task is ${wordOf(task)}.`}`);
    state.waited.delete(task.id);
  }
}

let drawing = 0;
function draw() {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    drawNow();
  });
}

function drawNow() {
  const agents = [...state.agents.values()];
  const needing = agents.filter((agent) => agent.group === "needs_you");
  document.title = needing.length ? `(${needing.length}) Synapse` : "Synapse";
  if (state.selected === null) preselect(agents, needing);
  list.show(agents, state.selected);
  if (state.tab === "timeline") {
    runs.show(state.runs);
    timeline.show(allTasks());
  }
  const agent = state.agents.get(state.selected);
  nothing.hidden = agent !== undefined;
  shown.hidden = agent === undefined;
  if (!agent) return;
  say(head.name, agent.name);
  say(head.about, [agent.type, shortened(agent.directory), `port ${agent.port}`].join(" · "));
  say(head.line, `${lineOf(agent)} · ${span(connection.age(sinceOf(agent)))}${agent.connected ? "" : " · not connected"}`);
  head.line.className = `agent-line ${agent.group}`;
  actions.interrupt.disabled = agent.group === "idle" && !agent.menu;
  terminal.show(agent, state.hello.me);
  question.show(agent);
  composer.show(agent);
  const received = [...(state.tasks.get(agent.id)?.values() ?? [])].map((task) => ({agent, task}));
  const sent = allTasks().filter((item) => item.agent.id !== agent.id && item.task.sender === agent.name);
  thread.show(agent, [...received, ...sent].sort((a, b) => a.task.created_at.localeCompare(b.task.created_at)));
}

function shortened(directory) {
  const {home} = state.hello;
  return home && (directory === home || directory.startsWith(`${home}/`)) ? `~${directory.slice(home.length)}` : directory;
}

function allTasks() {
  return [...state.tasks].flatMap(([id, tasks]) => (state.agents.has(id) ? [...tasks.values()].map((task) => ({agent: state.agents.get(id), task})) : []));
}

// The agent of the address. At first, on a wide page, else the one that has waited longest, or the first. Later none:
// what somebody writes to an agent that ends must not go to another one.
function preselect(agents, needing) {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const named = agents.find((agent) => agent.name === wanted);
  if (named) choose(named.id);
  else if (!state.hasChosen && !matchMedia("(max-width: 760px)").matches && agents.length) choose((needing[0] ?? agents[0]).id, false);
}

function choose(id, isMeant = true) {
  const agent = state.agents.get(id);
  if (!agent) return;
  state.selected = id;
  state.hasChosen = true;
  if (state.watched !== id) {
    state.watched = id;
    connection.send({watch: id});
  }
  if (isMeant) {
    history.replaceState(null, "", `#${encodeURIComponent(agent.name)}`);
    document.body.dataset.pane = "agent";
    if (state.tab !== "agents") setTab("agents");
  }
  draw();
}

function back() {
  document.body.dataset.pane = "list";
  ($("list").querySelector("[aria-current]") ?? $("list").querySelector("button"))?.focus();
}

async function answer(agent, asked, said) {
  const done = await connection.ask({agent: agent.id, answer: {question: asked.id, answer: said}});
  toast(done.said);
}

async function send(agent, text, {priority, wait}) {
  const done = await connection.ask({agent: agent.id, send: {message: text, priority}});
  if (wait && done.task) state.waited.set(done.task.id, agent.name);
  if (agent.id !== state.selected) toast(done.said);
  thread.follows = true;
}

async function act(request) {
  try {
    toast((await ask(request)).said);
  } catch (error) {
    toast(error.message, true);
  }
}

function cancel(agent, task) {
  act({agent: agent.id, cancel: task.id});
}

function cancelRun(id) {
  confirmDialog(`Cancel the run ${id}?`, "Its script ends, what it has asked is canceled, and its workers are stopped.", "Cancel the run", () => act({cancel_run: id}));
}

function stop() {
  const agent = state.agents.get(state.selected);
  confirmDialog(`Stop ${agent.name}?`, "Its program ends, and so do the tasks that it has.", "Stop", () => act({agent: agent.id, stop: true}));
}

function setTab(name) {
  state.tab = document.body.dataset.tab = name;
  for (const one of ["agents", "timeline"]) {
    const isOn = one === name;
    $(one).hidden = !isOn;
    $(`tab-${one}`).setAttribute("aria-selected", String(isOn));
    $(`tab-${one}`).tabIndex = isOn ? 0 : -1;
  }
  draw();
}

function connectionChanged(now) {
  const words = {connecting: "Connecting …", open: "", lost: "The connection to synapse view is lost. Trying again …", refused: "This browser is no longer let in. Open the address that `synapse view --url` prints."};
  if (now !== "lost" || !state.wasRefused) say($("connection"), words[now]);
  state.wasRefused = now === "refused" || (now === "lost" && state.wasRefused);
  document.body.classList.toggle("lost", now === "lost" || now === "refused");
  if (now === "open") {
    if (state.wasLost) toast("Connected again.");
    state.wasLost = false;
    if (state.selected) connection.send({watch: state.selected});
  } else if (now === "lost") state.wasLost = true;
}

for (const name of ["agents", "timeline"]) $(`tab-${name}`).addEventListener("click", () => setTab(name));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  setTab(state.tab === "agents" ? "timeline" : "agents");
  $(`tab-${state.tab}`).focus();
});
$("help").addEventListener("click", helpDialog);
$("start").addEventListener("click", () => {
  const directories = [state.agents.get(state.selected)?.directory, state.hello.directory, ...[...state.agents.values()].map((agent) => agent.directory)];
  startDialog(state.hello.profiles, [...new Set(directories.filter(Boolean))], (wanted) => connection.ask({start: wanted}));
});

// Who wrote to an agent that has ended still types for a moment. Those keys are no shortcuts.
const PAUSE = 1500; // milliseconds without a key
let deafUntil = 0;
const SHORTCUTS = {
  n: () => {
    const needing = [...state.agents.values()].filter((agent) => agent.group === "needs_you").sort((a, b) => sinceOf(a).localeCompare(sinceOf(b)));
    const next = needing[(needing.findIndex((agent) => agent.id === state.selected) + 1) % needing.length];
    if (next) choose(next.id);
  },
  m: () => composer.field.focus(),
  t: () => terminal.input.focus(),
  g: () => setTab(state.tab === "agents" ? "timeline" : "agents"),
  j: () => $("list").querySelector("button")?.focus(),
  k: () => $("list").querySelector("button")?.focus(),
  "?": helpDialog,
  Escape: back,
};
document.addEventListener("keydown", (event) => {
  const {target, key} = event;
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (performance.now() < deafUntil) {
    deafUntil = performance.now() + PAUSE;
    event.preventDefault();
    return;
  }
  const writes = target.matches("input, textarea, select");
  if (writes) {
    if (key === "Escape" && target === composer.field) back();
    return;
  }
  if (/^[1-9]$/.test(key) && question.press(Number(key))) event.preventDefault();
  else if (SHORTCUTS[key] && (key.length > 1 || state.agents.size || key === "?")) {
    event.preventDefault();
    SHORTCUTS[key]();
  }
});
addEventListener("hashchange", () => preselect([...state.agents.values()], []));
setInterval(draw, 1000);
