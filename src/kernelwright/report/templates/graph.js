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

function open(key) {
  svg.querySelectorAll(".chosen").forEach(one => one.classList.remove("chosen"));
  svg.querySelector(`[data-edge="${key}"]`).classList.add("chosen");
  const edge = data[key];
  panel.replaceChildren();
  add(panel, "h2", key.replace(">", " to "));
  add(panel, "p", `${edge.examples} examples, ${edge.counter} times counter-evidence`);
  for (const one of edge.shown) {
    const block = add(panel, "details");
    block.open = one === edge.shown[0];
    add(block, "summary", `${one.held ? "" : "counter-evidence: "}${one.name}: ${one.gains[0]}`);
    add(block, "p", one.think);
    if (one.detail) add(block, "p", one.detail);
    add(block, "p", one.about);
    for (const gain of one.gains) add(block, "p", gain);
    if (one.evidence) add(block, "p", one.evidence);
    const diff = add(block, "pre");
    for (const line of one.diff) add(diff, "div", line || " ", line[0] === "-" ? "gone" : line[0] === "+" ? "come" : "");
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
  const key = event.target.closest("[data-edge]")?.dataset.edge;
  if (key) open(key);
});
document.getElementById("whole").addEventListener("click", () => { box = [...home]; show(); });
document.getElementById("search").addEventListener("input", event => {
  const wanted = event.target.value.trim().toLowerCase().replaceAll(" ", "-");
  svg.querySelectorAll("[data-node]").forEach(one => one.classList.toggle("faint", !one.dataset.node.includes(wanted)));
  svg.querySelectorAll("[data-edge]").forEach(one => one.classList.toggle("faint", !one.dataset.edge.includes(wanted)));
});
