// Plays battles of teams whose moves change much, and compares what views say with the battle itself, where
// the player may know it. Prints a line for each difference, and at the end how often each thing was met.
//
//   node truth.js PACKAGE_VERSION SEED...
"use strict";

const { OVER, SeatedBattle } = require("../battle.js");
const { openPackage } = require("../package.js");

const [version, ...seeds] = process.argv.slice(2);
const showdown = openPackage(version);
const MOVES = ["Leech Seed", "Hyper Beam", "Sleep Powder", "Stomp", "Substitute", "Haze", "Confuse Ray", "Recover"];
const EFFECTS = {
  substitute: "substitute", confusion: "confusion", leech_seed: "leechseed", reflect: "reflect",
  light_screen: "lightscreen", recharges: "mustrecharge",
};
const met = {};

function makeTeam(species) {
  const chosen = species.map((name, at) => ({
    name, species: name, ability: "No Ability", level: 70, nature: "Serious", item: "",
    moves: [0, 2, 3, 5].map((step) => MOVES[(at + step) % MOVES.length]),
    evs: { hp: 252, atk: 252, def: 252, spa: 252, spd: 252, spe: 252 },
  }));
  return showdown.Teams.pack(chosen);
}

const TEAMS = [
  makeTeam(["Tauros", "Snorlax", "Gengar", "Starmie", "Onix", "Pidgeot"]),
  makeTeam(["Lapras", "Jynx", "Dodrio", "Rhydon", "Zapdos", "Chansey"]),
];

function play(seed) {
  const seated = new SeatedBattle(showdown, { format: "gen1customgame", seed, teams: TEAMS });
  const rng = new showdown.PRNG(`gen5,${Number(seed).toString(16).padStart(16, "0")}`);
  while (seated.seat !== OVER) {
    const { seat } = seated;
    const view = seated.views[seat];
    for (const of of [0, 1]) compare(`seed ${seed} step ${seated.step}`, view.active[of], seated.battle.sides[of].active[0]);
    const legal = view.legal();
    seated.apply(legal[rng.random(legal.length)]);
  }
}

function compare(where, known, one) {
  if (one.fainted || one.name !== known.name) return; // one has gone that must be replaced
  for (const [effect, volatile] of Object.entries(EFFECTS)) {
    const is = Boolean(one.volatiles[volatile]);
    if (is) met[effect] = (met[effect] ?? 0) + 1;
    if (is !== known.effects.has(effect)) console.log(`${where}: ${effect} of ${one.fullname} is ${is}`);
  }
}

seeds.forEach(play);
console.log(JSON.stringify(met));
