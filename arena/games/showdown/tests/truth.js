// Plays battles of teams whose moves change much, and compares what views say with the battle itself, where
// the player may know it. Prints a line for each difference, and at the end how often each thing was met.
//
//   node truth.js PACKAGE_VERSION SEED...
"use strict";

const { OVER, SeatedBattle } = require("../battle.js");
const { openPackage } = require("../package.js");

const [version, ...seeds] = process.argv.slice(2);
const showdown = openPackage(version);
const MOVES = ["Leech Seed", "Hyper Beam", "Sleep Powder", "Stomp", "Substitute", "Haze", "Confuse Ray", "Recover", "Transform", "Mimic"];
const EFFECTS = {
  substitute: "substitute", confusion: "confusion", leech_seed: "leechseed", reflect: "reflect",
  light_screen: "lightscreen", recharges: "mustrecharge",
};
const met = {};

function makeTeam(species) {
  const chosen = species.map((name, at) => ({
    name, species: name, ability: "No Ability", level: 70, nature: "Serious", item: "",
    moves: [0, 2, 3, 8, 9, 5].slice(at % 3, (at % 3) + 4).map((step) => MOVES[(at + step) % MOVES.length]),
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
    for (const of of [0, 1]) {
      const where = `seed ${seed} step ${seated.step}`;
      compare(where, view.active[of], seated.battle.sides[of].active[0], of === view.seat);
      compareMoves(where, view, of, seated.battle.sides[of]);
    }
    const legal = view.legal();
    seated.apply(legal[rng.random(legal.length)]);
  }
}

function compare(where, known, one, isOwn) {
  if (one.fainted || one.name !== known.name) return; // one has gone that must be replaced
  for (const [effect, volatile] of Object.entries(EFFECTS)) {
    const is = Boolean(one.volatiles[volatile]);
    if (is) met[effect] = (met[effect] ?? 0) + 1;
    // That the other player's need not recharge after a flinch is only seen when it moves.
    if (effect === "recharges" && !isOwn && !is) continue;
    if (is !== known.effects.has(effect)) console.log(`${where}: ${effect} of ${one.fullname} is ${is}`);
  }
}

// Of one's own all moves by slot; of the other player's those that were seen, which it must have.
function compareMoves(where, view, of, { active, pokemon }) {
  for (const known of view.teams[of]) {
    const one = pokemon.find(({ name }) => name === known.name);
    const names = known.currentMoves.map(([id]) => id);
    const moves = one.moveSlots.map(({ id }) => id);
    if (one.transformed) met.transformed = (met.transformed ?? 0) + 1;
    if (new Set(moves).size < moves.length) met.twice = (met.twice ?? 0) + 1;
    // One that has fainted is told nothing of any more until another one is out.
    if (one.fainted || (active[0] === one) !== (view.active[of] === known)) continue;
    const isSame = of === view.seat ? `${names}` === `${moves}` : names.every((id) => moves.includes(id));
    if (!isSame) console.log(`${where}: moves of ${one.fullname} are ${moves}, not ${names}`);
  }
}

seeds.forEach(play);
console.log(JSON.stringify(met));
