// Gives elements the measures that the server wrote into their data-vars ("--share:37;--at:12px"):
// the content security policy takes no style attribute.
//
// It stands in the head and does so as elements come, before they are painted, also for those that
// other scripts put in later. A measure that a script has set already is newer: it stays.

function measure(element) {
  for (const pair of element.dataset.vars.split(";")) {
    const [name, value] = pair.split(":").map((text) => text.trim());
    if (value && !element.style.getPropertyValue(name)) element.style.setProperty(name, value);
  }
}

function measureAll(node) {
  if (!(node instanceof Element)) return;
  if (node.matches("[data-vars]")) measure(node);
  node.querySelectorAll("[data-vars]").forEach(measure);
}

new MutationObserver((changes) => {
  for (const change of changes) change.addedNodes.forEach(measureAll);
}).observe(document, { childList: true, subtree: true });
