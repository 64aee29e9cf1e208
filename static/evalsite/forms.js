// Forms of the admin. Of the parameters of all choices, shows those of the chosen one: without this
// script all are shown, each under the name of what it belongs to.

function show(box) {
  const owner = document.querySelector(`[name="${box.dataset.owner}"]`);
  if (!owner) return;
  const update = () => {
    let nShown = 0;
    for (const group of box.querySelectorAll("[data-choice]")) {
      group.hidden = group.dataset.choice !== owner.value;
      nShown += group.hidden ? 0 : 1;
    }
    const otherwise = box.querySelector("[data-otherwise]");
    if (otherwise) otherwise.hidden = nShown > 0 || !owner.value;
    box.querySelector(".ev-none").hidden = nShown > 0 || otherwise?.hidden === false;
  };
  owner.addEventListener("change", update);
  owner.addEventListener("input", update); // of a field with proposals, before it is left
  update();
}

document.querySelectorAll(".ev-parameters").forEach(show);

// Django's searchable choices leave the label to the select that they hide.
function nameSearchableChoice(select) {
  const label = document.querySelector(`label[for="${select.id}"]`);
  const shown = select.parentElement.querySelector(".select2-selection");
  if (!label || !shown) return;
  label.id ||= `label_${select.id}`;
  const value = shown.querySelector(".select2-selection__rendered");
  shown.setAttribute("aria-labelledby", `${label.id} ${value.id}`);
  value.setAttribute("aria-labelledby", label.id);
}

// They are made later than this script runs, some of them twice.
function nameAll() {
  document.querySelectorAll("select.select2-hidden-accessible").forEach(nameSearchableChoice);
}

new MutationObserver(nameAll).observe(document.body, { childList: true, subtree: true });
nameAll();
