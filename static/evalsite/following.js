// Keeps a campaign or a training run up to date while it goes on. The page is complete without this.
//
// The server makes the part that moves once a second for all who look; here it is fetched, and what
// differs is put in the place of what was there. Answers that are the same have no body (ETag). What
// is below it (data-rest: results, matches) is of the moment the page was opened, until all has ended.

const EVERY_MS = 1500;
const BACK_OFF_MS = 5000;

const section = document.querySelector("[data-follows]");
const rest = document.querySelector("[data-rest]");

/** Says that the server is away, and of when the page is; hidden while it answers. */
const away = document.createElement("p");
away.className = "notice";
away.dataset.tone = "warn";
away.setAttribute("role", "status");
away.hidden = true;
section.before(away);
let answeredAt = new Date();

/** Once: whoever listens to the page is not told the same again and again. */
function sayAway(error) {
  if (!away.hidden) return;
  const why = error instanceof Refused ? `refuses this page (${error.message})` : "does not answer";
  away.textContent = `The server ${why}. What stands here is of ${answeredAt.toLocaleTimeString()}.`;
  away.hidden = false;
}

const isEnded = () => section.dataset.state === "ended";
const isOver = () => isEnded() && (!rest || rest.dataset.rest === "over");

/** What the server sent for each part; measures.js changes the elements themselves. */
const sent = new WeakMap();

/** What else can have the focus, by its place in a part. */
const PLACES = "summary, [tabindex]";

/** Puts the new contents in place; what has the focus keeps it, and what was unfolded stays so. */
function replace(part, fresh) {
  if (part.hidden !== fresh.hidden) part.hidden = fresh.hidden;
  if (sent.get(part) === fresh.innerHTML) return;
  sent.set(part, fresh.innerHTML);
  const address = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
  const place = [...part.querySelectorAll(PLACES)].indexOf(document.activeElement);
  const unfolded = [...part.querySelectorAll("details")].map((details) => details.open);
  part.replaceChildren(...fresh.childNodes);
  for (const [number, details] of part.querySelectorAll("details").entries()) {
    if (unfolded[number]) details.open = true;
  }
  if (place >= 0) part.querySelectorAll(PLACES)[place]?.focus({ preventScroll: true });
  if (address) part.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus({ preventScroll: true });
}

function draw(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-follows]");
  if (fresh.querySelectorAll("[data-part]").length !== section.querySelectorAll("[data-part]").length) {
    section.replaceChildren(...fresh.childNodes); // the first points: a table comes with them
  }
  for (const part of section.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (other) replace(part, other);
  }
  section.dataset.state = fresh.dataset.state;
}

/** The server answered, but not with the page: it is not there any more, or needs a login. */
class Refused extends Error {}

async function get(address) {
  const response = await fetch(address, { cache: "no-cache" });
  if (response.status >= 400 && response.status < 500) throw new Refused(`${response.status}`);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

/** Shows how the matches ended: those in play at the verdict end after it. */
async function drawRest() {
  const page = new DOMParser().parseFromString(await get(location.href), "text/html");
  const fresh = page.querySelector("[data-rest]");
  rest.dataset.rest = fresh.dataset.rest;
  replace(rest, fresh);
}

async function look() {
  let waitMs = EVERY_MS;
  try {
    draw(await get(section.dataset.follows));
    if (isEnded() && rest) await drawRest();
    answeredAt = new Date();
    away.hidden = true;
  } catch (error) {
    waitMs = BACK_OFF_MS; // what is shown stays
    sayAway(error);
  }
  if (!isOver()) setTimeout(look, waitMs);
}

if (!isOver()) setTimeout(look, EVERY_MS);
