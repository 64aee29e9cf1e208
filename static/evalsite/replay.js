// Steps through a match without asking the server for each step. The page is complete without this
// file: every step has an address of its own.
//
// All positions come with one request. The server has made their elements (pages/drawings.py escapes
// every word); what all positions begin with, the board, is put in once.

const section = document.querySelector("[data-frames]");
const find = (selector) => section.querySelector(selector);
const last = Number(section.dataset.last);

const svg = find(".scene > svg");
const slider = find(".player input");
const play = find("[data-play]");
const speed = find("[data-speed]");
const status = find(".stepping .at");
const moves = [...section.querySelectorAll(".moves li a")];
const list = find(".moves");
const events = find(".events");
const viewers = [...section.querySelectorAll("[data-view]")];

let frames;
let shapes;
let step = Number(section.dataset.step);
let viewer = Math.max(0, viewers.findIndex((link) => link.hasAttribute("aria-current")));
let timer;

const makeItem = (text) => Object.assign(document.createElement("li"), { textContent: text });

const markup = (numbers) => numbers.map((number) => shapes[number]).join("");

function draw() {
  const { said, views } = frames[step];
  const [box, words, drawn, happened] = views[viewer];
  if (svg && box) {
    svg.setAttribute("viewBox", box);
    svg.lastElementChild.innerHTML = markup(drawn);
  }
  find(".said").textContent = said;
  find(".words").textContent = words;
  events?.replaceChildren(...happened.map(makeItem));
  status.textContent = `Step ${step} of ${last}`;
  slider.value = step;
  for (const cursor of section.querySelectorAll(".value-curve .cursor")) {
    cursor.setAttribute("x1", `${(100 * step) / last}%`);
    cursor.setAttribute("x2", `${(100 * step) / last}%`);
  }
}

function markMove() {
  find(".moves [aria-current]")?.removeAttribute("aria-current");
  const link = moves[step - 1];
  link?.setAttribute("aria-current", "step");
  if (link) list.scrollTop = link.offsetTop - list.clientHeight / 2;
  else list.scrollTop = 0;
}

/** Gives the links of the steps their addresses; at an end the element stays and is disabled. */
function pointLinks() {
  const targets = { first: 0, previous: step - 1, next: step + 1, last };
  const seat = viewer ? `&seat=${viewer - 1}` : "";
  for (const element of section.querySelectorAll("[data-go]")) {
    const target = targets[element.dataset.go];
    const isEnd = ["first", "previous"].includes(element.dataset.go) ? step === 0 : step === last;
    element.toggleAttribute("aria-disabled", isEnd);
    element.setAttribute("href", `?step=${Math.min(Math.max(target, 0), last)}${seat}#replay`);
  }
  for (const [number, link] of moves.entries()) link.href = `?step=${number + 1}${seat}#replay`;
  for (const [number, link] of viewers.entries()) {
    link.href = `?step=${step}${number ? `&seat=${number - 1}` : ""}#replay`;
    link.toggleAttribute("aria-current", number === viewer);
  }
  history.replaceState(null, "", `?step=${step}${seat}#replay`);
}

function show(target) {
  step = Math.min(Math.max(target, 0), last);
  draw();
  markMove();
  pointLinks();
  if (step === last) pause();
}

function pause() {
  clearInterval(timer);
  timer = undefined;
  play.textContent = "Play";
  status.removeAttribute("aria-live");
}

function start() {
  if (step === last) show(0);
  play.textContent = "Pause";
  status.setAttribute("aria-live", "off"); // else every step is read out
  timer = setInterval(() => show(step + 1), Number(speed.value));
}

const toggle = () => (timer ? pause() : start());

const keys = {
  ArrowLeft: () => show(step - 1),
  ArrowRight: () => show(step + 1),
  Home: () => show(0),
  End: () => show(last),
  " ": toggle,
};

function onKey(event) {
  const isTyping = event.target.closest?.("input, select, textarea, button, summary");
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
  event.preventDefault();
  if (event.key !== " ") pause();
  keys[event.key]();
}

function onClick(event) {
  const link = event.target.closest("[data-go], .moves li a, [data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  pause();
  if (link.dataset.view) viewer = Number(link.dataset.view);
  show(Number(new URL(link.href).searchParams.get("step")));
}

/** Keeps the height of the tallest position, so that no step moves the controls under it. */
function keepHeight() {
  const boxes = frames.flatMap(({ views }) => views.map(([box]) => box.split(" ").map(Number)));
  const tallest = Math.max(...boxes.map(([, , width, height]) => height / width));
  svg.style.aspectRatio = 1 / tallest;
}

/** A span without an address, at an end of the match, becomes a link as the others are. */
function makeLinks() {
  for (const span of section.querySelectorAll("span[data-go]")) {
    const link = document.createElement("a");
    link.dataset.go = span.dataset.go;
    link.textContent = span.textContent;
    span.replaceWith(link);
  }
}

async function begin() {
  // Shown at once, so that nothing moves when the positions have come.
  const player = find(".player");
  for (const control of [play, slider, speed]) control.disabled = true;
  player.hidden = false;
  const answer = await fetch(section.dataset.frames);
  if (!answer.ok) {
    player.hidden = true; // the links of the page still step
    return;
  }
  ({ frames, shapes, ground: section.ground } = await answer.json());
  if (svg) {
    svg.innerHTML = `<g>${markup(section.ground)}</g><g></g>`;
    keepHeight();
  }
  makeLinks();
  for (const control of [play, slider, speed]) control.disabled = false;
  section.dataset.isReady = "";
  play.addEventListener("click", toggle);
  speed.addEventListener("change", () => timer && (pause(), start()));
  slider.addEventListener("input", () => (pause(), show(Number(slider.value))));
  section.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  draw();
  markMove();
  pointLinks();
  if (location.hash === "#play") start();
}

if (last > 0 && status) begin();
