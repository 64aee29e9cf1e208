// What a move does, and how much of its target it may be expected to take. Every player can know this:
// the package's data, and of what is hidden the most that the rules allow.
"use strict";

const BEST_VALUES = 15 * 2; // a hidden value of 15, as most teams have it
const TRAINED = 63; // what full training adds before the level is applied
// The middle of the random factor: 217 to 255 of 255.
const ROLL = 236 / 255;
const MEAN_HITS = 3; // of moves that hit two to five times
const STAGE_FACTORS = [25, 28, 33, 40, 50, 66, 100, 150, 200, 250, 300, 350, 400].map((share) => share / 100);
const NO_MOVE = Object.freeze({ id: "", power: 0, accuracy: 0, type: "", isStatus: true, factors: new Map() });

// By the package's data of a format: what its moves do, by id.
const described = new WeakMap();

function describeMove(dex, id) {
  let moves = described.get(dex);
  if (!moves) described.set(dex, (moves = new Map()));
  let move = moves.get(id);
  if (!move) moves.set(id, (move = makeMove(dex.moves.get(id))));
  return move;
}

function makeMove(move) {
  if (!move.exists) return NO_MOVE;
  const statuses = [move.status, move.volatileStatus];
  return Object.freeze({
    id: move.id,
    power: move.basePower > 1 ? move.basePower * countHits(move) : 0,
    accuracy: move.accuracy === true ? 1 : move.accuracy / 100,
    type: move.type,
    isSpecial: move.category === "Special",
    isStatus: move.category === "Status",
    priority: move.priority,
    fixed: move.id === "superfang" ? "half" : move.id === "psywave" ? "level" : move.damage ?? null,
    isDeadly: Boolean(move.ohko),
    heals: Boolean(move.flags.heal || move.drain),
    sleeps: statuses.includes("slp"),
    paralyses: statuses.includes("par"),
    poisons: statuses.includes("psn") || statuses.includes("tox"),
    confuses: statuses.includes("confusion"),
    raisesOwn: Boolean(move.boosts) && move.target === "self",
    lowersTheirs: Boolean(move.boosts) && move.target !== "self",
    charges: Boolean(move.flags.charge),
    recharges: Boolean(move.flags.recharge),
    faintsUser: Boolean(move.selfdestruct),
    binds: statuses.includes("partiallytrapped"),
    factors: new Map(), // by the types of its target, a list that each species has once
  });
}

// The types whose moves went by Special in the first generation.
const SPECIAL_TYPES = new Set(["Fire", "Water", "Grass", "Electric", "Ice", "Psychic", "Dragon"]);
const COMMON_POWER = 80;

// A common move of a type: what somebody may well have whose moves are not all known.
const assumed = new Map();
function assumeMove(type) {
  if (!assumed.has(type)) {
    const made = { type, power: COMMON_POWER, accuracy: 1, isSpecial: SPECIAL_TYPES.has(type), factors: new Map() };
    assumed.set(type, Object.freeze(made));
  }
  return assumed.get(type);
}

const countHits = ({ multihit }) => (Array.isArray(multihit) ? MEAN_HITS : (multihit ?? 1));

// 0 where the target is immune, else 0.25 to 4.
function findEffectiveness(dex, move, { types }) {
  let factor = move.factors.get(types);
  if (factor === undefined) {
    factor = dex.getImmunity(move.type, types) ? 2 ** dex.getEffectiveness(move.type, types) : 0;
    move.factors.set(types, factor);
  }
  return factor;
}

// A stat with its stages: of one's own as it is, of the other player's as high as it can be.
function statOf(dex, known, stat) {
  const own = known.stats && !known.isTransformed && known.species === known.own;
  const value = own ? known.stats[stat] : bestStat(known.species.baseStats[stat], known.level);
  return value * STAGE_FACTORS[known.boosts[stat] + 6];
}

const bestStat = (base, level) => Math.floor(((base * 2 + BEST_VALUES + TRAINED) * level) / 100) + 5;
const mostHp = (known) => known.maxHp || bestStat(known.species.baseStats.hp, known.level) + known.level + 5;

// The share of all of the target's HP that the move takes, times the chance that it hits.
// After the rules of the first generation: https://bulbapedia.bulbagarden.net/wiki/Damage
function expectDamage(dex, move, user, target) {
  if (move.isDeadly) return statOf(dex, user, "spe") >= statOf(dex, target, "spe") ? move.accuracy : 0;
  if (move.fixed !== null && move.fixed !== undefined) return move.accuracy * takeFixed(move.fixed, user, target);
  const factor = move.power ? findEffectiveness(dex, move, target) : 0;
  if (!factor) return 0;
  const [attack, defence, screen] = move.isSpecial ? ["spa", "spa", "light_screen"] : ["atk", "def", "reflect"];
  const burn = user.status === "brn" && !move.isSpecial ? 0.5 : 1;
  const wall = (target.effects.has(screen) ? 2 : 1) * (move.faintsUser ? 0.5 : 1);
  const ratio = (statOf(dex, user, attack) * burn) / (statOf(dex, target, defence) * wall);
  const raw = (((2 * user.level) / 5 + 2) * move.power * ratio) / 50 + 2;
  const same = user.types.includes(move.type) ? 1.5 : 1;
  return (move.accuracy * raw * same * factor * ROLL) / mostHp(target);
}

function takeFixed(fixed, user, target) {
  if (fixed === "half") return target.hp / 2;
  return (fixed === "level" ? user.level : fixed) / mostHp(target);
}

module.exports = { assumeMove, describeMove, expectDamage, findEffectiveness, statOf };
