// The package alone: battles between random choices, one after the other, with nothing of ours.
//
//   node bare.js PACKAGE_FOLDER FORMAT FIRST N   prints {"battles": N, "choices": N, "seconds": S}
"use strict";

const path = require("node:path");

const [folder, format, first, n] = process.argv.slice(2);
const { Battle, PRNG, Teams } = require(path.join(folder, "node_modules", "pokemon-showdown", "dist", "sim"));

const number = (seed) => seed.toString(16).padStart(64, "0");
const team = (seed) => Teams.pack(Teams.generate(format, { seed: `sodium,${number(seed)}` }));

function listChoices({ forceSwitch, active, side }) {
  const moves = forceSwitch ? [] : active[0].moves.flatMap((move, at) => (move.disabled ? [] : [`move ${at + 1}`]));
  const stays = active?.[0].trapped && !forceSwitch;
  const canEnter = (one) => !one.active && !one.condition.endsWith(" fnt");
  const switches = stays ? [] : side.pokemon.flatMap((one, at) => (canEnter(one) ? [`switch ${at + 1}`] : []));
  return [...moves, ...switches];
}

function play(seed) {
  const battle = new Battle({ formatid: format, seed: `sodium,${number(seed)}` });
  const rng = new PRNG(`sodium,${number(seed + 3e9)}`);
  ["p1", "p2"].forEach((name, side) => battle.setPlayer(name, { name, team: team(2 * seed + side) }));
  let nChoices = 0;
  while (!battle.ended) {
    for (const side of battle.sides) {
      const request = side.activeRequest;
      if (battle.ended || !request || request.wait) continue;
      const choices = listChoices(request);
      if (!battle.choose(side.id, choices[rng.random(choices.length)])) throw new Error(side.choice.error);
      nChoices++;
    }
  }
  battle.destroy();
  return nChoices;
}

// Its data is read with the first battle, which does not count.
play(Number(first) + Number(n));
const began = performance.now();
let choices = 0;
for (let seed = Number(first); seed < Number(first) + Number(n); seed++) choices += play(seed);
console.log(JSON.stringify({ battles: Number(n), choices, seconds: (performance.now() - began) / 1000 }));
