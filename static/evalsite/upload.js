// The upload of a checkpoint: refuses a file that is too large at once, and shows how far it is.
// Without this script the form is sent as any other, and the server refuses the same.

let field;

function said(text, share) {
  let line = document.getElementById("upload-said");
  if (!line) {
    line = document.createElement("p");
    line.id = "upload-said";
    line.className = "ev-echo";
    line.setAttribute("role", "status");
    line.innerHTML = '<span></span> <progress max="1"></progress>';
    (field.closest(".group") ?? field.parentElement).append(line);
  }
  line.firstElementChild.textContent = text;
  const bar = line.querySelector("progress");
  bar.hidden = share === null;
  bar.value = share ?? 0;
}

function megabytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function send(body) {
  const request = new XMLHttpRequest();
  request.open("POST", window.location.href);
  request.upload.onprogress = (event) => {
    if (!event.lengthComputable) return;
    said(`${megabytes(event.loaded)} of ${megabytes(event.total)} sent`, event.loaded / event.total);
  };
  request.upload.onload = () => said("All is sent; the file is being read.", 1);
  request.onerror = () => said("The connection was lost; nothing is stored. Send it again.", null);
  request.onload = () => {
    // Shown as it came: asked for again, its message of success would be gone.
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const main = page.getElementById("main");
    if (!main) {
      said(`The server answered ${request.status}: nothing is stored. Send it again.`, null);
      return;
    }
    window.history.pushState(null, "", request.responseURL || window.location.href);
    document.title = page.title;
    document.getElementById("main").replaceWith(main);
    window.scrollTo(0, 0);
    watch();
  };
  request.send(body);
}

function submitted(event) {
  const [file] = field.files;
  const limit = Number(field.dataset.maxBytes);
  if (!file) return;
  event.preventDefault();
  if (file.size > limit) {
    said(`${file.name} has ${megabytes(file.size)}; at most ${megabytes(limit)} are taken.`, null);
    return;
  }
  said("Sending", 0);
  send(new FormData(field.form, event.submitter));
}

function watch() {
  field = document.querySelector("input[type=file][data-max-bytes]");
  field?.form.addEventListener("submit", submitted);
}

watch();
