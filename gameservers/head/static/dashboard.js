// The page of the head: what /ws pushes is put into the page as text, never as markup.
"use strict";

const LOST_MS = 2000;
const NONE = "–";
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

const whole = (value) => (value == null ? NONE : Math.round(value).toLocaleString("en-GB"));
const percent = (value) => (value == null ? NONE : `${Math.round(100 * value)} %`);
const milliseconds = (value) =>
  value == null ? NONE : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

function ago(seconds) {
  if (seconds == null) return "";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

const FACTS = {
  healthy: (view) => whole(view.servers.healthy),
  playing: (view) => whole(view.playing),
  episodes: (view) => whole(view.episodes),
  batches: (view) => whole(view.batches),
  rows_per_batch: (view) => (view.rows_per_batch == null ? NONE : view.rows_per_batch.toFixed(1)),
  p50_ms: (view) => milliseconds(view.p50_ms),
  p99_ms: (view) => milliseconds(view.p99_ms),
  cpu: (view) => percent(view.cpu),
  memory: (view) => percent(view.memory),
};

function showFacts(view) {
  for (const [name, read] of Object.entries(FACTS)) {
    document.querySelector(`[data-fact=${name}]`).textContent = read(view);
  }
}

function labelled(label, text, className = "number") {
  const cell = element("td", text, className);
  cell.dataset.label = label;
  return cell;
}

function makeRow(server) {
  const row = element("tr", "", server.state);
  const name = element("th", server.name);
  name.scope = "row";
  const state = element("td", server.state, "state wide");
  state.append(element("small", `for ${ago(server.since_s)}`));
  if (server.reason) state.append(element("small", server.reason, "why"));
  const played = server.playing == null ? NONE : whole(server.playing);
  const episodes = labelled("Episodes", played);
  if (server.episodes != null) episodes.append(element("small", `${whole(server.episodes)} ended`));
  const address = element("td", server.address || NONE, "wide");
  address.append(element("small", server.source));
  row.append(name, state, labelled("Game", server.game || NONE, ""), episodes,
    labelled("Slots", whole(server.slots)), labelled("CPU", percent(server.cpu)),
    labelled("Memory", percent(server.memory)),
    labelled("Answers in", milliseconds(server.latency_ms)), address);
  return row;
}

// Those that play first; by name among them, as they come.
const ORDER = ["healthy", "leaving", "found", "unreachable", "gone"];

function showServers(view) {
  const sorted = view.discovered.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  byId("rows").replaceChildren(...sorted.map(makeRow));
  byId("nobody").hidden = view.discovered.length > 0;
  document.querySelector(".scroll").hidden = view.discovered.length === 0;
  const said = view.sources.filter((source) => source.failure || source.problems.length);
  byId("sources").replaceChildren(...said.map((source) => {
    const words = [source.failure, ...source.problems].filter(Boolean).join("; ");
    return element("p", `${source.name}: ${words}`, "warning");
  }));
  byId("unreported").hidden = !view.unreported;
  byId("unreported").textContent = `No match is sent to these servers: control is told nothing (${view.unreported}).`;
}

function showBucket(view) {
  const problems = Object.entries(view.problems);
  byId("bucket").hidden = !view.checkpoints.length && !problems.length;
  byId("checkpoints").textContent = view.checkpoints.length
    ? `Answering: ${view.checkpoints.join(", ")}` : "None answers yet.";
  byId("problems").replaceChildren(...problems.map(([file, why]) => element("li", `${file}: ${why}`)));
}

// Of counts that only grow the plot shows what was added in a second.
function perSecond(points, name) {
  return points.map((point, place) => {
    const before = points[place - 1];
    if (!before || point.at <= before.at || point[name] < before[name]) return null;
    return (point[name] - before[name]) / (point.at - before.at);
  });
}

const values = (points, name) => points.map((point) => point[name]);
const perSecondText = (value) => (value == null ? NONE : `${value < 10 ? value.toFixed(1) : whole(value)} /s`);
const PLOTS = [
  ["Healthy servers", whole, (points) => [values(points, "servers")]],
  ["Episodes ended", perSecondText, (points) => [perSecond(points, "episodes")]],
  ["Rows decided", perSecondText, (points) => [perSecond(points, "rows")]],
  ["Latency p50, p99 (dashed)", milliseconds,
    (points) => [values(points, "p50_ms"), values(points, "p99_ms")]],
  ["CPU, memory (dashed)", percent, (points) => [values(points, "cpu"), values(points, "memory")]],
];

function drawPath(series, highest) {
  let path = "";
  let isDrawn = false;
  series.forEach((value, place) => {
    if (value == null) {
      isDrawn = false;
      return;
    }
    const across = (100 * place) / Math.max(1, series.length - 1);
    path += `${isDrawn ? "L" : "M"}${across.toFixed(2)} ${(58 - (54 * value) / highest).toFixed(2)}`;
    isDrawn = true;
  });
  return path;
}

function makePlot([title, write, read], points) {
  const figure = element("figure");
  const lines = read(points);
  const known = lines.flat().filter((value) => value != null);
  const highest = Math.max(1e-9, ...known);
  const last = lines.map((line) => write(line.at(-1))).join(", ");
  const caption = element("figcaption", title);
  caption.append(element("b", last));
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 100 60");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: now ${last}, highest ${known.length ? write(highest) : NONE}`);
  const ground = document.createElementNS(SVG, "line");
  for (const [name, value] of Object.entries({ x1: 0, x2: 100, y1: 58, y2: 58 })) ground.setAttribute(name, value);
  svg.append(ground);
  lines.forEach((line, place) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", drawPath(line, highest));
    if (place) path.setAttribute("class", "second");
    svg.append(path);
  });
  figure.append(caption, svg);
  return figure;
}

function show(view) {
  showFacts(view);
  showServers(view);
  showBucket(view);
  byId("plots").replaceChildren(...PLOTS.map((plot) => makePlot(plot, view.history)));
}

function setLive(isLive, words) {
  document.body.classList.toggle("is-live", isLive);
  // Said when it changes only: a screen reader would speak every two seconds.
  if (byId("live").textContent !== words) byId("live").textContent = words;
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/ws`);
  socket.onmessage = (event) => {
    const view = JSON.parse(event.data);
    if (!view.servers) return;
    setLive(true, "live");
    show(view);
  };
  socket.onclose = () => {
    setLive(false, "the head does not answer: what is shown is old");
    setTimeout(connect, LOST_MS);
  };
}

async function discover() {
  const button = byId("discover");
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  byId("discovered").textContent = "looking";
  try {
    const answer = await fetch("/discover", { method: "POST" });
    const said = await answer.json();
    byId("discovered").textContent = answer.ok
      ? `${said.discovered.filter((one) => one.state === "healthy").length} of ${said.discovered.length} are healthy`
      : said.detail;
  } catch {
    byId("discovered").textContent = "the head does not answer";
  }
  button.ariaDisabled = "false";
}

byId("discover").addEventListener("click", discover);
connect();
