// Opens the npm package where it was installed; only its simulator is loaded.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const DEFAULT_FOLDER = path.join(__dirname, "..", "..", "..", "var", "tools", "showdown");
const HINT = "./run tools install showdown";

// Return the package's simulator. Raises an Error that says what to do where it is not this version.
function openPackage(version) {
  const folder = process.env.EVALSITE_SHOWDOWN || DEFAULT_FOLDER;
  const root = path.join(folder, "node_modules", "pokemon-showdown");
  const file = path.join(root, "package.json");
  if (!fs.existsSync(file)) throw new Error(`pokemon-showdown is not in ${folder}: ${HINT}`);
  const found = JSON.parse(fs.readFileSync(file, "utf8")).version;
  if (found !== version) {
    throw new Error(`pokemon-showdown ${found} is in ${folder}, these rules are of ${version}: ${HINT}`);
  }
  return require(path.join(root, "dist", "sim"));
}

// Return why battles of a format cannot be played here; empty where they can.
function refuseFormat(showdown, format) {
  const found = showdown.Dex.formats.get(format);
  if (!found.exists) return `pokemon-showdown has no format ${format}`;
  if (showdown.Dex.forFormat(found).gen !== 1 || found.gameType !== "singles") {
    return `${format} is no format of single battles of generation 1, the only ones that are played here`;
  }
  return "";
}

module.exports = { openPackage, refuseFormat };
