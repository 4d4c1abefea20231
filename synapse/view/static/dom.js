// Small helpers for elements. Text is always text: nothing here parses HTML.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Puts the elements of a list into the order of `items`, and keeps those that are there already.
export function keyed(parent, items, key, make, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let child = known.get(name);
    known.delete(name);
    if (child === undefined) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of known.values()) child.remove();
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

// `3 m`: how long something has lasted, in one unit.
export function span(seconds) {
  for (const [size, unit] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return "now";
}

// How long something took that has ended.
export function took(seconds) {
  return seconds < 1 ? "< 1 s" : span(seconds);
}

export function clock(text) {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? "" : moment.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false});
}

// A text that changes only when it is another: screen readers would read it again.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function toast(text, isError = false) {
  const element = h("p", {class: isError ? "toast error" : "toast"}, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), isError ? 9000 : 4000);
}

export function announce(text) {
  document.getElementById("announce").textContent = text;
}
