// The numbers that a player decides by, in the order of layout.json; all of them from a View.
"use strict";

const { assumeMove, describeMove, expectDamage, findEffectiveness, statOf } = require("./moves.js");
const layout = require("./layout.json");

const WIDTHS = { field: layout.field, side: layout.side, move: layout.move, pokemon: layout.pokemon };
const kindOf = (block) => block.slice(block.indexOf("_") + 1);
const SIZE = layout.blocks.reduce((sum, [block, n]) => sum + n * WIDTHS[kindOf(block)].length, 0);
const TYPES = layout.pokemon.slice(layout.pokemon.indexOf("Bug"));
const STATUSES = ["brn", "par", "slp", "frz", "psn"];
const BOOSTS = ["atk", "def", "spa", "spe", "accuracy", "evasion"];
const EFFECTS = ["substitute", "confusion", "leech_seed", "reflect", "light_screen", "bound", "recharges"];
const BASES = ["hp", "atk", "def", "spa", "spe"];
const TEAM_SIZE = 6;
const N_MOVES = 4;
// So that most numbers lie in 0..1.
const TURNS = 100, POWER = 150, BASE = 150, LEVEL = 100, FACTOR = 4, STAGES = 6, MOST_DAMAGE = 2;

class Writer {
  constructor() {
    this.numbers = new Float32Array(SIZE);
    this.at = 0;
  }

  put(...values) {
    for (const value of values) this.numbers[this.at++] = Number(value);
  }

  skip(kind) {
    this.at += WIDTHS[kind].length;
  }
}

function observe(view) {
  const writer = new Writer();
  const legal = new Set(view.legal());
  const isMove = Boolean(view.asked.active);
  writer.put(
    view.turn / TURNS, !isMove, isMove && Boolean(view.asked.active[0].trapped), isFaster(view.own, view.theirs, view.dex),
  );
  putSide(writer, view.teams[view.seat], view.own);
  putSide(writer, view.teams[1 - view.seat], view.theirs);
  putMoves(writer, view.own, view.theirs, view.dex, legal);
  putMoves(writer, view.theirs, view.own, view.dex, null);
  putTeam(writer, view.teams[view.seat], view.own, view.theirs, view.dex, legal);
  putTeam(writer, view.teams[1 - view.seat], view.theirs, view.own, view.dex, null);
  return writer.numbers;
}

function putSide(writer, team, active) {
  const nFainted = team.filter((known) => known.fainted).length;
  writer.put((TEAM_SIZE - nFainted) / TEAM_SIZE);
  for (const boost of BOOSTS) writer.put((active?.boosts[boost] ?? 0) / STAGES);
  for (const effect of EFFECTS) writer.put(active?.effects.has(effect) ?? false);
  writer.put(Boolean(active) && (active.types !== active.own.types || active.isTransformed));
}

// legal: the actions of who is asked, null for the moves of the other player.
function putMoves(writer, user, target, dex, legal) {
  const moves = user?.currentMoves ?? [];
  for (let slot = 0; slot < N_MOVES; slot++) {
    if (slot < moves.length) putMove(writer, moves[slot], user, target, dex, legal?.has(slot) ?? false);
    else writer.skip("move");
  }
}

function putMove(writer, [id, points], user, target, dex, isLegal) {
  const move = describeMove(dex, id);
  const factor = target ? findEffectiveness(dex, move, target) : 1;
  writer.put(
    true, isLegal, move.power / POWER, move.accuracy, points, factor / FACTOR, user.types.includes(move.type),
    move.isSpecial, move.isStatus, move.priority,
    target ? Math.min(expectDamage(dex, move, user, target), MOST_DAMAGE) : 0,
    move.heals, move.sleeps, move.paralyses, move.poisons, move.confuses, move.raisesOwn, move.lowersTheirs,
    move.charges, move.recharges, move.faintsUser, move.binds,
  );
}

function putTeam(writer, team, active, foe, dex, legal) {
  for (let place = 0; place < TEAM_SIZE; place++) {
    const known = team[place];
    if (!known) {
      writer.skip("pokemon");
      continue;
    }
    writer.put(
      true, known === active, legal?.has(N_MOVES + place) ?? false, known.hp, known.fainted, known.level / LEVEL,
    );
    // A bad poisoning is one.
    for (const status of STATUSES) writer.put(known.status === status || (status === "psn" && known.status === "tox"));
    for (const stat of BASES) writer.put(known.species.baseStats[stat] / BASE);
    writer.put(findBest(known, foe, dex), findBest(foe, known, dex), isFaster(known, foe, dex));
    for (const type of TYPES) writer.put(known.types.includes(type));
  }
}

// The most that a move may be expected to do: of those that are known of the user, and of a common one
// of each of its types as long as not all are known.
function findBest(user, target, dex) {
  if (!user || !target || user.fainted || target.fainted) return 0;
  const moves = user.currentMoves.map(([id]) => describeMove(dex, id));
  if (!user.stats && moves.length < N_MOVES) moves.push(...user.types.map(assumeMove));
  return Math.min(Math.max(0, ...moves.map((move) => expectDamage(dex, move, user, target))), MOST_DAMAGE);
}

function isFaster(own, theirs, dex) {
  if (!own || !theirs) return false;
  return speedOf(own, dex) > speedOf(theirs, dex);
}

const speedOf = (known, dex) => statOf(dex, known, "spe") * (known.status === "par" ? 0.25 : 1);

module.exports = { SIZE, observe };
