// A battle as people look at it: all of it, or what one seat knows. The page draws it (picture.py).
"use strict";

const { describeMove } = require("./moves.js");

// seat: null shows what is hidden, too.
function showBattle(seated, seat) {
  const { battle } = seated;
  const isHidden = seat !== null;
  const sides = battle.sides.map((side, of) => {
    const isOwn = !isHidden || of === seat;
    return {
      left: side.pokemonLeft,
      pokemon: isOwn ? listOwn(side, battle.dex) : listKnown(seated.views[seat], of),
    };
  });
  return { turn: battle.turn, sides, lines: [...seated.linesOf(seat)] };
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
    moves: [...known.currentMoves.keys()].map((id) => nameMove(view.dex, id)),
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
