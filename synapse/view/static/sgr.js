// The look of a span: from SGR parameters to classes and colours.

const CLASSES = {1: "bold", 2: "faint", 3: "italic", 5: "blink", 8: "hidden-text", 9: "struck", 53: "over"};
const CUBE = [0, 95, 135, 175, 215, 255];
const looks = new Map();

function indexed(number) {
  if (number < 16) return `var(--c${number})`;
  if (number >= 232) {
    const grey = 8 + 10 * (number - 232);
    return `rgb(${grey},${grey},${grey})`;
  }
  const place = number - 16;
  return `rgb(${CUBE[Math.floor(place / 36)]},${CUBE[Math.floor(place / 6) % 6]},${CUBE[place % 6]})`;
}

function parse(sgr) {
  const look = {classes: [], colour: "", background: ""};
  const words = sgr.split(";");
  let inverse = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at], code = Number.parseInt(word, 10);
    if (word.startsWith("4") && (word === "4" || word.startsWith("4:"))) {
      look.classes.push(word === "4" ? "under" : word === "4:3" ? "under wavy" : word === "4:2" ? "under double" : "under");
    } else if (code === 38 || code === 48) {
      const name = code === 38 ? "colour" : "background";
      if (words[at + 1] === "5") look[name] = indexed(Number(words[at + 2]));
      else look[name] = `rgb(${words.slice(at + 2, at + 5).map(Number).join(",")})`;
      at += words[at + 1] === "5" ? 2 : 4;
    } else if (code >= 30 && code <= 37) look.colour = indexed(code - 30);
    else if (code >= 40 && code <= 47) look.background = indexed(code - 40);
    else if (code >= 90 && code <= 97) look.colour = indexed(code - 82);
    else if (code >= 100 && code <= 107) look.background = indexed(code - 92);
    else if (code === 7) inverse = true;
    else if (CLASSES[code] && word === String(code)) look.classes.push(CLASSES[code]);
  }
  if (inverse) [look.colour, look.background] = [look.background || "var(--screen)", look.colour || "var(--screen-text)"];
  return look;
}

export function lookOf(sgr) {
  let look = looks.get(sgr);
  if (look === undefined) {
    if (looks.size > 4096) looks.clear();
    look = parse(sgr);
    looks.set(sgr, look);
  }
  return look;
}
