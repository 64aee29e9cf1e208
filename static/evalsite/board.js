// Keeps a leaderboard up to date by WebSocket. The page is complete without this file.
//
// The server sends a snapshot on connection, then deltas numbered in sequence. A delta that does not
// follow the last one means that something was missed: the page asks for a snapshot. It never polls.

const ASK_AGAIN_MS = 3000;
const QUIET_MS = 30000;
const BACK_OFF_MS = { first: 500, most: 2500 }; // back within 5 s of the server
const MOVE_MS = 450;
const ARROW_MS = 4000;
const NEWS_MS = 20000;
const SNAPSHOT_REQUEST = JSON.stringify({ type: "snapshot" });

const page = document.querySelector("[data-live]");
const table = document.querySelector("#board");
const tbody = table.tBodies[0];
const ELO = page.dataset.elo ? JSON.parse(page.dataset.elo) : null; // what one unit is worth, if Elo is shown
const isChosen = page.dataset.view !== undefined; // by a filter or a sort
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

/** What the page shows: the rows by agent, and where in the sequence that is. */
const shown = { epoch: null, sequence: -1, rows: new Map() };

// --- Drawing -----------------------------------------------------------------------------------

function setText(element, value) {
  const text = String(value);
  if (element.textContent !== text) element.textContent = text;
}

function fill(root, values, attribute = "field") {
  for (const element of root.querySelectorAll(`[data-${attribute}]`)) {
    const value = values[element.dataset[attribute]];
    if (value !== undefined) setText(element, value);
  }
}

function clone(id) {
  return document.querySelector(id).content.firstElementChild.cloneNode(true);
}

/** Turns ratings into points of Elo where the page shows those, as pages/elo.py does. */
function toElo(rating) {
  return Math.floor(ELO.at + ELO.per * (Number(rating) - ELO.mu) + 0.5);
}

function inScale(row) {
  if (!ELO) return row;
  const [mu, low, high, live] = [row.mu, row.low, row.high, row.live].map(toElo);
  const trend = row.trend === "" ? "" : Math.floor(ELO.per * Number(row.trend) + 0.5);
  return { ...row, mu, low, high, live, trend: trend > 0 ? `+${trend}` : trend };
}

/** The same axis with marks at round numbers of points. */
function axisInScale(axis) {
  if (!ELO) return axis;
  const [low, high] = [axis.low, axis.high].map(toElo);
  const step = ELO.steps.find((points) => (high - low) / points <= ELO.marks) ?? ELO.steps.at(-1);
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push({ at, label: `${at}` });
  return { low, high, step, ticks };
}

function drawRow(element, raw) {
  const row = inScale(raw);
  element.dataset.agent = row.agent;
  element.dataset.played = row.matches;
  element.id = `agent-${row.agent}`;
  fill(element, row);
  const link = element.querySelector("a.name");
  link.href = link.getAttribute("href").replace(/\d+\/$/, `${Number(row.agent)}/`);
  for (const count of element.querySelectorAll("td a")) {
    count.href = count.getAttribute("href").replace(/agent=\d+/, `agent=${Number(row.agent)}`);
  }
  for (const name of ["mu", "low", "high"]) element.style.setProperty(`--${name}`, row[name]);
  element.querySelector("[data-zero]").dataset.zero = row.forfeits;
}

function rowElement(agent) {
  return tbody.querySelector(`[data-agent="${Number(agent)}"]`);
}

function flash(element, name, milliseconds) {
  element.classList.remove(name);
  void element.offsetWidth; // restarts an animation that is still running
  element.classList.add(name);
  clearTimeout(element[name]);
  element[name] = setTimeout(() => element.classList.remove(name), milliseconds);
}

function markRank(element, before, after) {
  if (before === undefined || before === after) return;
  element.classList.remove("up", "down");
  flash(element, after < before ? "up" : "down", ARROW_MS);
}

/** Puts the rows in the order of their ranks and lets them glide there from where they were. */
function reorder() {
  const ordered = [...shown.rows.values()].sort((a, b) => a.rank - b.rank).map((row) => rowElement(row.agent));
  if (ordered.every((element, index) => tbody.children[index] === element)) return;
  const tops = new Map(ordered.map((element) => [element, element.getBoundingClientRect().top]));
  tbody.append(...ordered);
  if (calm.matches) return;
  for (const element of ordered) {
    const distance = tops.get(element) - element.getBoundingClientRect().top;
    if (distance) {
      element.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }], { duration: MOVE_MS, easing: "ease" });
    }
  }
}

function hasMoved(changed) {
  return ["mu", "low", "high"].some((name) => changed[name] !== undefined);
}

function drawRows(rows, removed, isFirst) {
  if (isChosen) return drawChosen(rows, removed, isFirst);
  for (const agent of removed) {
    shown.rows.delete(agent);
    rowElement(agent)?.remove();
  }
  for (const changed of rows) {
    const before = shown.rows.get(changed.agent);
    const row = { ...before, ...changed };
    shown.rows.set(row.agent, row);
    let element = rowElement(row.agent);
    if (!element) tbody.append((element = clone("#row-template")));
    drawRow(element, row);
    if (isFirst) continue;
    markRank(element, before?.rank, row.rank);
    if (hasMoved(changed)) flash(element, "touched", 1600);
  }
  reorder();
  const empty = document.querySelector(".no-rows");
  if (empty) empty.hidden = shown.rows.size > 0;
}

// --- A filtered or sorted board: the rows that are there follow, and nothing moves under the reader

/** Draws what changed on the rows shown; others, and another order, are for a reload. */
function drawChosen(rows, removed, isFirst) {
  let isStale = removed.some((agent) => shown.rows.has(agent));
  for (const agent of removed) shown.rows.delete(agent);
  for (const changed of rows) {
    const before = shown.rows.get(changed.agent);
    isStale ||= !isFirst && !before; // an agent that was not on the board
    const row = { ...before, ...changed };
    shown.rows.set(row.agent, row);
    const element = rowElement(row.agent);
    if (!element) continue;
    drawRow(element, row);
    if (!isFirst && hasMoved(changed)) flash(element, "touched", 1600);
  }
  if (isStale || !isInOrder()) document.querySelector(".stale").hidden = false;
}

/** Says whether the rows still stand by the value that they were sorted by. */
function isInOrder() {
  const isDescending = page.dataset.view.startsWith("-");
  const field = page.dataset.view.replace("-", "");
  if (field === "name") return true;
  const played = [...tbody.rows].filter((row) => row.dataset.played !== "0"); // the others stand below
  const values = played.map((row) => parseValue(row.querySelector(`[data-field="${field}"]`).textContent));
  return values.every((value, i) => i === 0 || (isDescending ? values[i - 1] >= value : values[i - 1] <= value));
}

/** Reads a number as a row shows it: "1,234", "+0.50", "<0.1 %"; nothing counts as the lowest. */
function parseValue(text) {
  const plain = text.replace(/[,%\s]/g, "");
  if (plain === "") return -Infinity;
  return plain.startsWith("<") ? 0 : plain.startsWith(">") ? 100 : Number(plain);
}

function drawAxis(axis) {
  const limits = { low: axis.low, high: axis.high, first: axis.ticks[0].at, step: axis.step };
  for (const [name, value] of Object.entries(limits)) table.style.setProperty(`--axis-${name}`, value);
  const ticks = axis.ticks.map((tick) => {
    const element = document.createElement("span");
    element.className = "tick";
    element.style.setProperty("--at", tick.at);
    element.textContent = tick.label;
    return element;
  });
  table.querySelector(".axis").replaceChildren(...ticks);
}

function drawTournament(element, tournament) {
  element.dataset.tournament = tournament.id;
  element.dataset.state = tournament.state;
  fill(element, tournament);
  const link = element.querySelector("a");
  link.href = link.getAttribute("href").replace(/\d+\/$/, `${Number(tournament.id)}/`);
  for (const count of element.querySelectorAll(".counts a")) {
    count.href = count.getAttribute("href").replace(/tournament=\d+/, `tournament=${Number(tournament.id)}`);
  }
  const bar = element.querySelector(".bar");
  bar.setAttribute("aria-valuenow", tournament.percent_completed);
  bar.setAttribute("aria-label", `Progress of ${tournament.name}`);
  for (const part of bar.children) part.style.setProperty("--share", tournament[part.dataset.share]);
}

function drawStatus(status) {
  fill(page, status, "status");
  if (!isChosen) drawAxis(axisInScale(status.axis)); // a part of the board has a scale of its own
  drawStrength();
  const list = document.querySelector("#tournaments");
  const elements = status.tournaments.map((tournament) => {
    const element = list.querySelector(`[data-tournament="${Number(tournament.id)}"]`) ?? clone("#tournament-template");
    drawTournament(element, tournament);
    return element;
  });
  const isSame = elements.length === list.children.length && elements.every((element, i) => list.children[i] === element);
  if (!isSame) list.replaceChildren(...elements); // else the focus on a link would be lost
}

// --- Strength by training step: the server drew it the same way, see pages/plots/strength.py ---------------

const LABEL_GAP = 16;

/** Draws what has moved: on one scale for all runs, so that they can be compared by their heights. */
function drawStrength() {
  const drawings = [...document.querySelectorAll(".strength .drawing")];
  const agents = drawings.flatMap((drawing) => [...drawing.querySelectorAll(".point")].map((point) => Number(point.dataset.agent)));
  const rows = agents.map((agent) => shown.rows.get(agent));
  if (!rows.length || rows.includes(undefined)) return; // below the rows that are live
  const compared = [...drawings[0].querySelectorAll(".compared line")].map((line) => shown.rows.get(Number(line.dataset.agent)));
  const axis = fitAxis([...rows.flatMap((row) => [row.low, row.high]), ...compared.filter(Boolean).map((row) => row.mu)].map(Number));
  for (const drawing of drawings) {
    const points = [...drawing.querySelectorAll(".point")];
    const drawn = points.map((point) => shown.rows.get(Number(point.dataset.agent)));
    const [top, bottom, height] = ["top", "bottom", "height"].map((name) => Number(drawing.dataset[name]));
    const down = (rating) => top + ((height - top - bottom) * (axis.high - rating)) / (axis.high - axis.low);
    drawScale(drawing.querySelector(".scale"), axis, down);
    drawPoints(points, drawn, down);
    drawWay(drawing.querySelectorAll(".way line"), drawn, down);
    drawCompared(drawing, down);
  }
  for (const line of document.querySelectorAll(".strength tr[data-agent]")) fill(line, shown.rows.get(Number(line.dataset.agent)) ?? {});
}

/** Fits a scale as fit_axis_to of matches/ratings/standings.py does. */
function fitAxis(limits) {
  const [least, most] = [Math.min(...limits), Math.max(...limits)];
  const finest = (0.999 * (most - least)) / 5;
  const power = finest > 0 ? 10 ** Math.floor(Math.log10(finest)) : 1;
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= finest);
  const part = step / 5;
  const low = Math.floor(least / part) * part;
  const high = Math.max(Math.ceil(most / part) * part, low + step);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n <= high / step + 1e-9; n++) {
    ticks.push({ at: n * step, label: `${Number((n * step).toPrecision(6))}` });
  }
  return { low, high, ticks };
}

function drawScale(scale, axis, down) {
  const ticks = axis.ticks.map((tick) => {
    const element = scale.firstElementChild.cloneNode(true);
    element.style.setProperty("--at", `${down(tick.at)}px`);
    setText(element.querySelector("text"), tick.label);
    return element;
  });
  scale.replaceChildren(...ticks);
}

function drawPoints(points, rows, down) {
  points.forEach((point, i) => {
    const { name, mu, low, high } = rows[i];
    const title = `${name}, step ${Number(point.dataset.step).toLocaleString("en-US")}: ${mu}, ${low} to ${high}`;
    point.setAttribute("aria-label", title);
    setText(point.querySelector("title"), title);
    setAll(point.querySelector(".range"), { y1: down(high), y2: down(low) });
    setAll(point.querySelector(".mode"), { cy: down(mu) });
  });
}

function drawWay(lines, rows, down) {
  lines.forEach((line, i) => setAll(line, { y1: down(rows[i].mu), y2: down(rows[i + 1].mu) }));
}

/** Moves the lines and their labels, the strongest first; what would cover a label is hidden. */
function drawCompared(drawing, down) {
  const agents = [...drawing.querySelectorAll(".names span")].map((label) => Number(label.dataset.agent));
  const rows = agents.map((agent) => shown.rows.get(agent)).filter(Boolean);
  let freeFrom = 0;
  for (const row of rows.sort((a, b) => a.rank - b.rank)) {
    const at = down(row.mu);
    const isHidden = at < freeFrom;
    if (!isHidden) freeFrom = at + LABEL_GAP;
    for (const element of drawing.querySelectorAll(`:is(.compared, .names) [data-agent="${row.agent}"]`)) {
      element.style.setProperty("--at", `${at}px`);
      element.toggleAttribute("hidden", isHidden);
    }
  }
}

function setAll(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
}

// --- News for those who do not see rows move: a sentence now and then, or nothing else were heard --

let newsAt = -NEWS_MS;

function tellNews(status) {
  const now = performance.now();
  const leader = [...shown.rows.values()].find((row) => Number(row.rank) === 1);
  if (!leader || now < newsAt + NEWS_MS) return;
  newsAt = now;
  setText(document.querySelector(".news"), `${leader.name} leads with ${leader.mu}; ${status.n_outcomes} matches counted.`);
}

// --- Messages ----------------------------------------------------------------------------------

function replaceAll(snapshot) {
  const isFirst = shown.epoch === null;
  const agents = new Set(snapshot.rows.map((row) => row.agent));
  const known = isChosen ? [...shown.rows.keys()] : [...tbody.rows].map((element) => Number(element.dataset.agent));
  const gone = known.filter((agent) => !agents.has(agent));
  drawRows(snapshot.rows, gone, isFirst);
  drawStatus(snapshot.status);
  shown.epoch = snapshot.epoch;
  shown.sequence = snapshot.sequence;
}

function applyDelta(delta, ask) {
  if (delta.epoch !== shown.epoch || delta.sequence > shown.sequence + 1) {
    ask();
  } else if (delta.sequence === shown.sequence + 1) {
    drawRows(delta.rows, delta.removed, false);
    drawStatus(delta.status);
    tellNews(delta.status);
    shown.sequence = delta.sequence;
  } // else: known already, or the heartbeat of a quiet board
}

// --- Connection --------------------------------------------------------------------------------

function say(state, words) {
  document.querySelector("[data-connection]").dataset.connection = state;
  setText(document.querySelector("[data-connection] .words"), words);
}

function connect(waitMs = BACK_OFF_MS.first) {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${window.location.host}${page.dataset.live}`);
  let nextWaitMs = Math.min(2 * waitMs, BACK_OFF_MS.most);
  let quietTimer;
  let askTimer;

  function heard() {
    say("live", "live");
    clearTimeout(quietTimer);
    quietTimer = setTimeout(() => say("quiet", "no news for 30 s"), QUIET_MS);
  }

  function ask() {
    if (askTimer) return; // one is under way
    socket.send(SNAPSHOT_REQUEST);
    askTimer = setTimeout(() => (askTimer = undefined), ASK_AGAIN_MS);
  }

  socket.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    heard();
    nextWaitMs = BACK_OFF_MS.first;
    if (message.type === "snapshot") replaceAll(message);
    else if (message.type === "delta") applyDelta(message, ask);
    else if (message.type === "nodes") fill(page, message, "nodes");
  });
  socket.addEventListener("close", () => {
    clearTimeout(quietTimer);
    clearTimeout(askTimer);
    say("lost", "reconnecting");
    setTimeout(connect, nextWaitMs * (0.5 + Math.random()), nextWaitMs);
  });
}

connect();
