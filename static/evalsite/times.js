// Writes times in the zone of the viewer. The server writes UTC, and says so on pointing at a time;
// without this script it stays so. pages/templatetags/readable.py has the same forms.
//
// It stands in the head, so that times are written before they are painted, also those that other
// scripts put in later.

const LENGTHS = { minute: 16, second: 19, day: 10, clock: 19 };
const CLOCK_FROM = 11;
const two = (number) => String(number).padStart(2, "0");

function write(element) {
  const form = element.dataset.form;
  const at = new Date(element.dateTime);
  if (!(form in LENGTHS) || Number.isNaN(at.getTime())) return;
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
  const whole = `${day} ${clock}`.slice(0, LENGTHS[form]);
  const text = form === "clock" ? whole.slice(CLOCK_FROM) : whole;
  if (element.textContent !== text) element.textContent = text;
}

function nameZone(element) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || zone === "UTC" || zone === "Etc/UTC") return;
  const words = `Times are those of ${zone}; point at one for UTC. In texts and plots they are UTC.`;
  if (element.textContent !== words) element.textContent = words;
}

function writeAll(node) {
  if (!(node instanceof Element)) return;
  if (node.matches("time[data-form]")) write(node);
  node.querySelectorAll("time[data-form]").forEach(write);
  if (node.matches("[data-zone]")) nameZone(node);
  node.querySelectorAll("[data-zone]").forEach(nameZone);
}

new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) {
    addedNodes.forEach(writeAll);
    // Where a page comes in parts, the text of a time may come after its element was written, and
    // the parser adds it to the text that was.
    const element = target instanceof Element ? target : target.parentElement;
    if (element?.matches("time[data-form], [data-zone]")) writeAll(element);
  }
}).observe(document, { childList: true, characterData: true, subtree: true });
