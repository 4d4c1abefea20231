// The connection to `synapse view`. It heals by itself, and says so.

const FIRST_PAUSE = 300, LONGEST_PAUSE = 5000; // milliseconds
const CHECK = 15000, PATIENCE = 4000; // how often a visible page looks whether the connection is alive, and for how long

export class Connection {
  // `take` gets every frame, `changed` "connecting", "open", "lost" or "refused".
  constructor(take, changed) {
    this.take = take;
    this.changed = changed;
    this.pause = FIRST_PAUSE;
    this.waiting = new Map();
    this.lastId = 0;
    this.offset = 0; // milliseconds that the clock of the machine is ahead of the browser's
    document.addEventListener("visibilitychange", () => document.hidden || this.wake());
    document.addEventListener("resume", () => this.wake());
    addEventListener("online", () => this.wake());
    setInterval(() => document.hidden || this.wake(), CHECK);
    this.open();
  }

  open() {
    this.changed(this.socket ? "lost" : "connecting");
    clearTimeout(this.timer);
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    this.socket = socket;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      this.pause = FIRST_PAUSE;
      this.changed("open");
    };
    socket.onmessage = ({data}) => {
      const frame = JSON.parse(data);
      if (frame.type === "hello") this.setClock(frame.now);
      if (frame.type === "ok" || frame.type === "error") this.answer(frame);
      else this.take(frame);
    };
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.refuseAll();
      this.changed("lost");
      if (!wasOpen) this.findOut();
      this.timer = setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(this.pause * 1.7, LONGEST_PAUSE);
    };
  }

  // A view that was started again does not know this browser: connecting again is in vain.
  async findOut() {
    try {
      if ((await fetch("/", {method: "HEAD"})).status === 403) this.changed("refused");
    } catch {
      // it is not running
    }
  }

  // A tab or a machine that slept may have a connection that is dead and does not know it, or wait for the next attempt.
  async wake() {
    if (this.socket.readyState === WebSocket.CLOSED) this.open();
    if (!this.isOpen || this.checking) return;
    const socket = this.socket;
    this.checking = setTimeout(() => {
      this.checking = null;
      if (socket !== this.socket || !this.isOpen) return;
      this.refuseAll();
      this.open();
      socket.close();
    }, PATIENCE);
    try {
      this.setClock((await this.ask({ping: true})).now);
    } catch {
      // it was lost, and is opened again
    }
    clearTimeout(this.checking);
    this.checking = null;
  }

  refuseAll() {
    for (const {refuse} of this.waiting.values()) refuse(new Error("The connection was lost: look whether it was done."));
    this.waiting.clear();
  }

  setClock(now) {
    this.offset = Date.parse(now) - Date.now();
  }

  get isOpen() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  now() {
    return Date.now() + this.offset;
  }

  // Seconds since a time of the machine.
  age(text) {
    return Math.max((this.now() - Date.parse(text)) / 1000, 0) || 0;
  }

  send(request) {
    if (this.isOpen) this.socket.send(JSON.stringify(request));
  }

  // The response to a request; an error is thrown with its sentence.
  ask(request) {
    if (!this.isOpen) return Promise.reject(new Error("There is no connection to synapse view at the moment."));
    const id = ++this.lastId;
    return new Promise((resolve, refuse) => {
      this.waiting.set(id, {resolve, refuse});
      this.send({id, ...request});
    });
  }

  answer(frame) {
    const waiting = this.waiting.get(frame.id);
    this.waiting.delete(frame.id);
    if (!waiting) return;
    if (frame.type === "ok") waiting.resolve(frame);
    else waiting.refuse(new Error(frame.detail));
  }
}
