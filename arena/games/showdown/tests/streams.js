// Plays battles by the package's own streams, in which each player gets what its server would send, and
// compares what a View says that has read nothing else, and the lines themselves, with what the driver's
// battles say. Prints a line for each difference, and at the end how many decisions were compared.
//
//   node streams.js FORMAT PACKAGE_VERSION TEAMS_FOLDER|- SEED...
"use strict";

const { OVER, SeatedBattle } = require("../battle.js");
const { openPackage } = require("../package.js");
const { readTeams } = require("../teams.js");
const { View } = require("../view.js");

const [format, version, folder, ...seeds] = process.argv.slice(2);
const showdown = openPackage(version);
const teams = folder === "-" ? [] : readTeams(showdown, folder);
let nCompared = 0;

async function playBoth(seed) {
  const ours = new SeatedBattle(showdown, { format, seed, teams });
  const streams = showdown.getPlayerStreams(new showdown.BattleStream());
  const views = [0, 1].map((seat) => new View(seat, showdown.Dex.forFormat(format)));
  // The first lines that the package would take: the format with its seed, and the players' teams.
  await streams.omniscient.write(ours.battle.inputLog.join("\n"));
  compareLines(seed, ours, await hear(streams, views));
  const rng = new showdown.PRNG(`gen5,${Number(seed).toString(16).padStart(16, "0")}`);
  while (ours.seat !== OVER) {
    const { seat } = ours;
    compare(seed, ours, views[seat]);
    const legal = views[seat].legal();
    const action = legal[rng.random(legal.length)];
    const text = views[seat].chooseText(action);
    ours.apply(action);
    await streams[`p${seat + 1}`].write(text);
    const heard = await hear(streams, views);
    if (ours.chosen === null) compareLines(seed, ours, heard);
  }
}

function compare(seed, ours, view) {
  const own = ours.views[ours.seat];
  const [a, b] = [own.observe(), view.observe()];
  nCompared++;
  const at = a.findIndex((number, place) => number !== b[place]);
  if (at >= 0) console.log(`seed ${seed} step ${ours.step}: number ${at} is ${a[at]}, by the streams ${b[at]}`);
  const [legal, theirs] = [own.legal().join(), view.legal().join()];
  if (legal !== theirs) console.log(`seed ${seed} step ${ours.step}: legal ${legal}, by the streams ${theirs}`);
}

function compareLines(seed, ours, heard) {
  for (const [seat, lines] of heard.entries()) {
    const [a, b] = [[...ours.linesOf(seat)], lines].map((all) => all.filter((line) => !line.startsWith("|t:|")));
    const at = a.findIndex((line, place) => line !== b[place]);
    if (at >= 0 || a.length !== b.length) {
      console.log(`seed ${seed} step ${ours.step} seat ${seat}: line ${at} "${a[at]}", by the streams "${b[at]}"`);
    }
  }
}

// Give each view all that its stream holds; the lines of each player.
async function hear(streams, views) {
  await new Promise(setImmediate);
  return views.map((view, seat) => hearPlayer(streams[`p${seat + 1}`].buf.splice(0), view));
}

function hearPlayer(messages, view) {
  const lines = [];
  for (const line of messages.flatMap((message) => message.split("\n"))) {
    if (line.startsWith("|request|")) {
      if (line.length > 9 && !JSON.parse(line.slice(9)).wait) view.request(JSON.parse(line.slice(9)));
    } else {
      view.receive(line);
      lines.push(line);
    }
  }
  return lines;
}

(async () => {
  for (const seed of seeds) await playBoth(seed);
  console.log(`compared ${nCompared}`);
})();
