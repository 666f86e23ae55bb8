"use strict";
const svg = document.getElementById("graph"), panel = document.getElementById("panel");
const data = JSON.parse(document.getElementById("data").textContent);
const home = svg.getAttribute("viewBox").split(" ").map(Number);
let box = [...home], from = null;

function show() { svg.setAttribute("viewBox", box.join(" ")); }

function add(parent, tag, text, name) {
  const made = parent.appendChild(document.createElement(tag));
  if (text) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function words(name) { return name.replaceAll("-", " "); }

function count(number, word) { return `${number} ${word}${number === 1 ? "" : "s"}`; }

function choose(selector, title, told) {
  svg.querySelectorAll(".chosen").forEach(one => one.classList.remove("chosen"));
  svg.querySelector(selector).classList.add("chosen");
  panel.replaceChildren();
  add(panel, "h2", title);
  add(panel, "p", told, "quiet");
}

function open(key) {
  const edge = data[key], [source, target] = key.split(">");
  const counter = edge.counter ? `, and ${count(edge.counter, "step")} that went wrong or lost time` : "";
  choose(`[data-edge="${key}"]`, `${words(target)} after ${words(source)}`, count(edge.examples, "example") + counter);
  for (const one of edge.shown) {
    const block = add(panel, "details");
    block.open = one === edge.shown[0];
    add(block, "summary", `${one.held ? "" : "Counter-evidence: "}${one.name}`);
    for (const gain of one.gains) add(block, "p", gain);
    add(block, "p", one.about, "quiet");
    for (const told of [one.think, one.detail, one.evidence]) if (told) add(block, "p", told);
    const diff = add(block, "pre");
    for (const line of one.diff) add(diff, "div", line || " ", line[0] === "-" ? "gone" : line[0] === "+" ? "come" : "");
  }
}

function visit(node) {
  const ways = Object.keys(data).map(key => [key, ...key.split(">")]);
  const [to, from] = [2, 1].map(end => ways.filter(way => way[end] === node));
  choose(`[data-node="${node}"]`, words(node), `${count(to.length, "step")} lead here, ${from.length} go on`);
  for (const [title, list, end] of [["From", to, 1], ["On to", from, 2]]) {
    if (list.length) add(panel, "p", title);
    for (const way of list) add(panel, "button", `${words(way[end])} (${data[way[0]].examples})`).onclick = () => open(way[0]);
  }
}

svg.addEventListener("wheel", event => {
  event.preventDefault();
  const frame = svg.getBoundingClientRect(), factor = event.deltaY > 0 ? 1.15 : 1 / 1.15;
  const x = box[0] + box[2] * (event.clientX - frame.left) / frame.width;
  const y = box[1] + box[3] * (event.clientY - frame.top) / frame.height;
  box = [x - (x - box[0]) * factor, y - (y - box[1]) * factor, box[2] * factor, box[3] * factor];
  show();
}, { passive: false });
svg.addEventListener("pointerdown", event => { from = [event.clientX, event.clientY, box[0], box[1]]; });
window.addEventListener("pointermove", event => {
  if (!from) return;
  const frame = svg.getBoundingClientRect(), scale = box[2] / Math.min(frame.width, frame.height);
  box[0] = from[2] - (event.clientX - from[0]) * scale;
  box[1] = from[3] - (event.clientY - from[1]) * scale;
  show();
});
window.addEventListener("pointerup", () => { from = null; });
svg.addEventListener("click", event => {
  const { edge, node } = event.target.closest("[data-edge], [data-node]")?.dataset ?? {};
  if (edge) open(edge); else if (node) visit(node);
});
document.getElementById("whole").addEventListener("click", () => { box = [...home]; show(); });
document.getElementById("search").addEventListener("input", event => {
  const wanted = event.target.value.trim().toLowerCase().replaceAll(" ", "-");
  svg.querySelectorAll("[data-node]").forEach(one => one.classList.toggle("faint", !one.dataset.node.includes(wanted)));
  svg.querySelectorAll("[data-edge]").forEach(one => one.classList.toggle("faint", !one.dataset.edge.includes(wanted)));
});
