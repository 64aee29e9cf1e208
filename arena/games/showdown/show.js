// A battle as people look at it: all of it, or what one seat knows. The page draws it (picture.py).
"use strict";

const { readLines } = require("./battle.js");
const { describeMove } = require("./moves.js");

const CONDITION_LINES = new Set(["switch", "drag", "-damage", "-heal", "-sethp"]);

// seat: null shows what is hidden, too.
function showBattle(seated, seat) {
  const { battle } = seated;
  const isHidden = seat !== null;
  const sides = battle.sides.map((side, of) => {
    const isOwn = !isHidden || of === seat;
    return {
      left: side.pokemonLeft,
      size: side.pokemon.length,
      pokemon: isOwn ? listOwn(side, battle.dex) : listKnown(seated.views[seat], of),
    };
  });
  // While one choice is open nothing has happened since the one before.
  const lines = seated.chosen === null ? [...seated.linesOf(seat)] : [];
  return { turn: battle.turn, sides, lines, before: readConditions(seated, seat) };
}

// By battle and by who looks, how far its log was read and the HP that it told by then.
const read = new WeakMap();

// The conditions before these lines, of p1: Onix and others, so that damage can be told in figures.
function readConditions(seated, seat) {
  if (!read.has(seated)) read.set(seated, new Map());
  const viewers = read.get(seated);
  if (!viewers.has(seat)) viewers.set(seat, { at: 0, conditions: {} });
  const known = viewers.get(seat);
  for (const line of readLines(seated.battle.log, known.at, seat, seated.nReadBefore)) {
    const [, kind, ident, what, more] = line.split("|", 5);
    if (!CONDITION_LINES.has(kind)) continue;
    known.conditions[ident.slice(0, 2) + ident.slice(3)] = kind.startsWith("-") ? what : more;
  }
  known.at = seated.nReadBefore;
  return known.conditions;
}

// In the order in which the team was given, which the package changes as they enter.
function listOwn(side, dex) {
  const order = [...side.pokemon].sort((a, b) => a.place - b.place);
  return order.map((one) => ({
    name: one.name,
    level: one.level,
    types: one.types,
    hp: one.hp / one.maxhp,
    hp_text: `${one.hp}/${one.maxhp}`,
    status: one.fainted ? "" : one.status,
    is_active: one.isActive,
    has_fainted: one.fainted,
    moves: one.moveSlots.map(({ id, move, pp, maxpp }) => ({
      ...nameMove(dex, id), name: move, left: pp, most: maxpp,
    })),
    boosts: pickBoosts(one.boosts),
    effects: Object.keys(one.volatiles),
  }));
}

function listKnown(view, of) {
  return view.teams[of].map((known) => ({
    name: known.name,
    level: known.level,
    types: known.types,
    hp: known.hp,
    hp_text: `${Math.ceil(known.hp * 100)} %`,
    status: known.status,
    is_active: known === view.active[of],
    has_fainted: known.fainted,
    moves: known.currentMoves.map(([id]) => nameMove(view.dex, id)),
    boosts: pickBoosts(known.boosts),
    effects: [...known.effects],
  }));
}

function nameMove(dex, id) {
  const { type, power } = describeMove(dex, id);
  return { name: dex.moves.get(id).name, type, power };
}

const pickBoosts = (boosts) => Object.fromEntries(Object.entries(boosts).filter(([, by]) => by));

module.exports = { showBattle };
