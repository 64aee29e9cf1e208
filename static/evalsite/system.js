// Keeps the page of the system up to date by WebSocket. The page is complete without this file.
//
// Every message is the whole picture: one that was missed costs nothing, and nothing is asked for.

const QUIET_MS = 10000;
const BACK_OFF_MS = { first: 500, most: 2500 }; // back within 5 s of the server

const page = document.querySelector("[data-live]");
const nodePage = page.dataset.node.replace(/0\/$/, "");
const tournamentPage = page.dataset.tournament.replace(/0\/$/, "");

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

function element(name, role, attributes = {}) {
  const made = document.createElement(name);
  made.setAttribute("role", role);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function drawFacts(facts) {
  for (const fact of facts) setText(page.querySelector(`[data-fact="${fact.name}"]`), fact.value);
}

function drawCharts(charts) {
  for (const chart of charts) {
    const figure = page.querySelector(`[data-chart="${chart.name}"]`);
    if (!figure) continue;
    setText(figure.querySelector(".now"), chart.now);
    figure.querySelectorAll(".most").forEach((most) => setText(most, chart.most));
    figure.querySelector("polyline").setAttribute("points", chart.points);
  }
}

/** Gives a row its cells; those that are there are kept, so that a focused link stays focused. */
function drawRow(line, row, columns) {
  line.dataset.tone = row.tone;
  while (line.cells.length > row.cells.length) line.lastElementChild.remove();
  row.cells.forEach((text, index) => {
    let cell = line.cells[index];
    if (!cell) {
      cell = index ? element("td", "cell") : element("th", "rowheader", { scope: "row" });
      cell.dataset.label = columns[index]; // narrow screens show rows as cards
      line.append(cell);
    }
    if (!index && row.node !== undefined) drawLink(cell, text, `${nodePage}${Number(row.node)}/`);
    else if (!index && row.tournament !== undefined) {
      drawLink(cell, text, `${tournamentPage}${Number(row.tournament)}/`);
    } else if (!index && row.matches) drawLink(cell, text, `${page.dataset.matches}?${row.matches}`);
    else setText(cell, text);
  });
}

function drawLink(cell, text, address) {
  let link = cell.querySelector("a");
  if (!link) cell.replaceChildren((link = document.createElement("a")));
  setText(link, text);
  link.href = address;
}

function drawTable(table) {
  const sheet = page.querySelector(`[data-table="${table.name}"]`);
  if (!sheet) return;
  setText(sheet.querySelector("caption"), table.caption);
  const body = sheet.querySelector("tbody");
  while (body.rows.length > table.rows.length) body.lastElementChild.remove();
  table.rows.forEach((row, index) => {
    let line = body.rows[index];
    if (!line) body.append((line = element("tr", "row")));
    drawRow(line, row, table.columns);
  });
  const empty = sheet.querySelector(".no-rows");
  empty.hidden = table.rows.length > 0;
  setText(empty, table.empty);
}

function drawAlert(selector, text) {
  const alert = page.querySelector(selector);
  setText(alert, text);
  alert.hidden = !text;
}

function draw(message) {
  drawFacts(message.facts);
  drawCharts(message.charts);
  message.tables.forEach(drawTable);
  drawAlert(".standstill", message.standstill);
  drawAlert(".parts", message.trouble);
}

function say(state, words) {
  page.querySelector("[data-connection]").dataset.connection = state;
  setText(page.querySelector("[data-connection] .words"), words);
}

function connect(waitMs = BACK_OFF_MS.first) {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${window.location.host}${page.dataset.live}`);
  let nextWaitMs = Math.min(2 * waitMs, BACK_OFF_MS.most);
  let quietTimer;
  socket.addEventListener("message", (event) => {
    draw(JSON.parse(event.data));
    say("live", "page is live");
    nextWaitMs = BACK_OFF_MS.first;
    clearTimeout(quietTimer);
    quietTimer = setTimeout(() => say("quiet", "no news for 10 s"), QUIET_MS);
  });
  socket.addEventListener("close", () => {
    clearTimeout(quietTimer);
    say("lost", "reconnecting");
    setTimeout(connect, nextWaitMs * (0.5 + Math.random()), nextWaitMs);
  });
}

connect();
