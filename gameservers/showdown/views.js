// What seats of battles elsewhere see and may choose: JSON lines over stdin and stdout, for views.py.
//
//   node views.js FORMAT PACKAGE_VERSION
"use strict";

const readline = require("node:readline");
const { SIZE } = require("../../arena/games/showdown/features.js");
const { openPackage } = require("../../arena/games/showdown/package.js");
const { View } = require("../../arena/games/showdown/view.js");

const GENERATION = 1;
const views = new Map();

function openFormat(format, version) {
  const { Dex } = openPackage(version);
  if (!Dex.formats.get(format).exists) throw new Error(`pokemon-showdown ${version} has no format ${format}`);
  const dex = Dex.forFormat(format);
  if (dex.gen !== GENERATION) throw new Error(`${format} is of generation ${dex.gen}: only ${GENERATION} is seen here`);
  return dex;
}

// The seat of a battle has heard these lines and is asked this.
function look(dex, { view: key, seat, lines, request }) {
  if (!views.has(key)) views.set(key, new View(seat, dex));
  const view = views.get(key);
  for (const line of lines) view.receive(line);
  view.request(request);
  const legal = view.legal();
  return {
    legal,
    texts: legal.map((action) => view.chooseText(action)),
    names: legal.map((action) => view.nameAction(action)),
    turn: view.turn,
    observation: Buffer.from(view.observe().buffer).toString("base64"),
  };
}

function answer(dex, message) {
  if (message.kind === "end") {
    views.delete(message.view);
    return null;
  }
  try {
    return { number: message.number, ...look(dex, message) };
  } catch (error) {
    return { number: message.number, error: String(error.message).slice(0, 300) };
  }
}

process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message.split("\n")[0]}\n`);
  process.exit(1);
});
const dex = openFormat(...process.argv.slice(2));
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
say({ size: SIZE });
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const said = answer(dex, JSON.parse(line));
  if (said) say(said);
});
