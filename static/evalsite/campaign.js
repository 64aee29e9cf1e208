// Keeps a campaign up to date while it runs. The page is complete without this file.
//
// The server makes the part that moves once a second for all who look; here it is fetched, and what
// differs is put in the place of what was there. Answers that are the same have no body (ETag).

const EVERY_MS = 1500;
const BACK_OFF_MS = 5000;

const section = document.querySelector("[data-campaign]");

/** Puts the new contents in place; a link that has the focus keeps it. */
function replace(part, fresh) {
  if (part.hidden !== fresh.hidden) part.hidden = fresh.hidden;
  if (part.innerHTML === fresh.innerHTML) return;
  const address = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
  part.replaceChildren(...fresh.childNodes);
  if (address) part.querySelector(`a[href="${CSS.escape(address)}"]`)?.focus({ preventScroll: true });
}

function draw(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-campaign]");
  if (fresh.querySelectorAll("[data-part]").length !== section.querySelectorAll("[data-part]").length) {
    section.replaceChildren(...fresh.childNodes); // the first points: a table comes with them
  }
  for (const part of section.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (other) replace(part, other);
  }
  section.dataset.state = fresh.dataset.state;
}

async function look() {
  let waitMs = EVERY_MS;
  try {
    const response = await fetch(section.dataset.campaign, { cache: "no-cache" });
    if (!response.ok) throw new Error(`${response.status}`);
    draw(await response.text());
  } catch {
    waitMs = BACK_OFF_MS; // the server is away: what is shown stays
  }
  if (section.dataset.state !== "ended") setTimeout(look, waitMs);
}

if (section.dataset.state !== "ended") setTimeout(look, EVERY_MS);
