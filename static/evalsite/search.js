// The key "/" leads to the search box of the site, Escape out of it. Without this script the box is
// a form like any other.

const box = document.querySelector("header.site input[type=search]");
const TYPED_INTO = "input, textarea, select, [contenteditable]";

document.addEventListener("keydown", (event) => {
  const isPlain = !(event.ctrlKey || event.metaKey || event.altKey);
  if (event.key === "/" && isPlain && !event.target.closest?.(TYPED_INTO)) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (event.key === "Escape" && event.target === box) {
    box.blur();
  }
});
