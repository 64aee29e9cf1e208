// Of the parameters of all choices, shows those of the chosen one. Without this script all are shown,
// each under the name of what it belongs to.

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
    box.querySelector(".ev-none").hidden = nShown > 0 || Boolean(otherwise);
  };
  owner.addEventListener("change", update);
  owner.addEventListener("input", update); // of a field with proposals, before it is left
  update();
}

document.querySelectorAll(".ev-parameters").forEach(show);
