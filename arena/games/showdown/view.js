// What one player knows of a battle: from the lines and requests that the package sends to that player.
"use strict";

const { observe } = require("./features.js");

const N_MOVES = 4;
const NO_BOOSTS = Object.freeze({ atk: 0, def: 0, spa: 0, spd: 0, spe: 0, accuracy: 0, evasion: 0 });
// What a line calls a lasting effect, and what we do.
const EFFECTS = {
  Substitute: "substitute", confusion: "confusion", "Leech Seed": "leech_seed", Reflect: "reflect",
  "Light Screen": "light_screen",
};
// Some lines call it by the move that made it.
const nameEffect = (what) => EFFECTS[what.replace("move: ", "")];

// One list for each text, as what is worked out by types is kept by their list.
const typeLists = new Map();
function listTypes(text) {
  if (!typeLists.has(text)) typeLists.set(text, text.split("/"));
  return typeLists.get(text);
}

const toId = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");

class KnownPokemon {
  constructor(name, details, dex) {
    const [species, ...rest] = details.split(", ");
    const level = rest.find((part) => /^L\d+$/.test(part));
    this.name = name;
    this.level = level ? Number(level.slice(1)) : 100;
    this.own = dex.species.get(species);
    this.moves = []; // [id, share of its points that is left], of one's own by slot
    this.hp = 1;
    this.maxHp = 0; // known of one's own
    this.stats = null;
    this.status = "";
    this.fainted = false;
    this.leave();
  }

  // Forget what lasts only while it is out.
  leave() {
    this.species = this.own;
    this.types = this.own.types;
    this.boosts = { ...NO_BOOSTS };
    this.effects = new Set();
    this.copied = null; // instead of its moves, what it has by Transform or Mimic
    this.isTransformed = false;
  }

  get currentMoves() {
    return this.copied ?? this.moves;
  }

  // Note a move that it was seen to have.
  learn(id) {
    if (this.currentMoves.some(([known]) => known === id)) return;
    // What it shows while it is another one is no move of its own.
    for (const moves of this.isTransformed ? [this.copied] : [this.moves, this.copied]) {
      if (moves && moves.length < N_MOVES) moves.push([id, 1]);
    }
  }

  // Have another move in the place of Mimic until it leaves.
  mimic(id) {
    const moves = this.currentMoves.filter(([known]) => known !== "mimic");
    this.copied = moves.length < N_MOVES ? [...moves, [id, 1]] : moves;
  }

  // Take a condition such as 120/300 par, 53/100 or 0 fnt.
  take(condition) {
    const [share, status = ""] = condition.split(" ");
    this.fainted = status === "fnt";
    this.status = this.fainted ? "" : status;
    const [left, most] = share.split("/").map(Number);
    this.hp = this.fainted ? 0 : left / most;
    return most;
  }
}

class View {
  // seat: 0 or 1. dex: the package's data of the format.
  constructor(seat, dex) {
    this.seat = seat;
    this.dex = dex;
    this.turn = 0;
    this.teams = [[], []]; // of each seat, in the order in which they became known
    this.active = [null, null];
    this.asked = null; // the request that is open
  }

  get own() {
    return this.active[this.seat];
  }

  get theirs() {
    return this.active[1 - this.seat];
  }

  // Take a request of the package, parsed.
  request(asked) {
    this.asked = asked;
    for (const entry of asked.side.pokemon) {
      const known = this.find(entry.ident, entry.details);
      known.maxHp = known.take(entry.condition) || known.maxHp;
      known.stats = entry.stats;
      // As they are now, by slot: also those of whom it has become. One may be there twice.
      const moves = entry.moves.map((id, slot) => {
        const before = known.currentMoves[slot];
        return before?.[0] === id ? before : [id, 1];
      });
      if (known.isTransformed) known.copied = moves;
      else known.moves = moves;
    }
    if (!asked.active) return;
    const offered = asked.active[0].moves;
    // A flinch spares it that, which no line says of who has moved before.
    if (offered[0].id !== "recharge") this.own.effects.delete("recharges");
    offered.forEach(({ id, pp, maxpp }, slot) => {
      const move = this.own.currentMoves[slot];
      if (maxpp && move[0] === id) move[1] = pp / maxpp;
    });
  }

  // Take a line of the battle's log, as this player gets it.
  receive(line) {
    const [, kind, who, what, more] = line.split("|", 6);
    const act = LINES[kind];
    if (act) act.call(this, who, what, more, line);
  }

  seatOf(ident) {
    return Number(ident[1]) - 1;
  }

  // The Pokemon of an ident such as "p1a: Onix", made known by its details where it is not yet.
  find(ident, details) {
    const name = ident.slice(ident.indexOf(": ") + 2);
    const team = this.teams[this.seatOf(ident)];
    let known = team.find((pokemon) => pokemon.name === name);
    if (!known && details) {
      known = new KnownPokemon(name, details, this.dex);
      team.push(known);
    }
    return known;
  }

  enter(ident, details, condition) {
    const seat = this.seatOf(ident);
    this.active[seat]?.leave();
    const known = this.find(ident, details);
    known.leave();
    known.take(condition);
    this.active[seat] = known;
  }

  // The slot of each move that the request offers. A move that is no choice (Fight, Struggle,
  // Recharge) has the slot of nothing else, so it takes the first.
  offered() {
    if (!this.asked.active) return [];
    const { moves } = this.asked.active[0];
    if (moves.length > 1) return moves.map((move, slot) => ({ ...move, slot }));
    return [{ ...moves[0], slot: Math.max(this.own.currentMoves.findIndex(([id]) => id === moves[0].id), 0) }];
  }

  canEnter(known) {
    return !known.fainted && known !== this.own;
  }

  // The actions that the open request allows, ascending: 0-3 moves, 4-9 switches by place in the team.
  legal() {
    const moves = this.offered().filter((move) => !move.disabled).map((move) => move.slot);
    const active = this.asked.active?.[0];
    const switches = active?.trapped ? [] : this.teams[this.seat].flatMap(
      (known, place) => (this.canEnter(known) ? [N_MOVES + place] : []),
    );
    return [...moves.sort((a, b) => a - b), ...switches];
  }

  // The package's words for a legal action.
  chooseText(action) {
    if (action < N_MOVES) {
      return `move ${this.offered().findIndex((move) => move.slot === action) + 1}`;
    }
    const { name } = this.teams[this.seat][action - N_MOVES];
    const place = this.asked.side.pokemon.findIndex((entry) => entry.ident.endsWith(`: ${name}`));
    return `switch ${place + 1}`;
  }

  // What players call a legal action.
  nameAction(action) {
    if (action >= N_MOVES) return `switch to ${this.teams[this.seat][action - N_MOVES].name}`;
    return this.offered().find((move) => move.slot === action).move;
  }

  // float32, as layout.json says.
  observe() {
    return observe(this);
  }
}

// By kind of line, with the view as `this`; what is not here tells nothing that is observed.
const LINES = {
  turn(number) {
    this.turn = Number(number);
    for (const known of this.active) known?.effects.delete("bound");
  },
  switch: View.prototype.enter,
  drag: View.prototype.enter,
  move(ident, name, _target, line) {
    const known = this.find(ident);
    known.effects.delete("recharges");
    // Its own, unless another move has called it; of one's own the requests tell.
    const isCalled = line.includes("[from]");
    const id = toId(name);
    if (isCalled || id === "struggle" || this.seatOf(ident) === this.seat) return;
    known.learn(id);
  },
  cant(ident, reason) {
    const known = this.find(ident);
    if (reason === "recharge" || reason === "flinch") known.effects.delete("recharges");
    if (reason === "partiallytrapped") known.effects.add("bound");
  },
  faint(ident) {
    this.find(ident).take("0 fnt");
  },
  "-damage": takeCondition,
  "-heal": takeCondition,
  "-sethp": takeCondition,
  "-status"(ident, status) {
    const known = this.find(ident);
    known.status = status;
    // Who is put to sleep need not recharge any more.
    if (status === "slp") known.effects.delete("recharges");
  },
  "-curestatus"(ident) {
    this.find(ident).status = "";
  },
  "-boost"(ident, stat, by) {
    raise(this.find(ident), stat, Number(by));
  },
  "-unboost"(ident, stat, by) {
    raise(this.find(ident), stat, -Number(by));
  },
  "-setboost"(ident, stat, to) {
    this.find(ident).boosts[stat] = Number(to);
  },
  "-clearallboost"() {
    for (const known of this.active) if (known) known.boosts = { ...NO_BOOSTS };
  },
  "-mustrecharge"(ident) {
    this.find(ident).effects.add("recharges");
  },
  "-start"(ident, what, more) {
    const known = this.find(ident);
    if (what === "typechange") known.types = listTypes(more);
    else if (what === "Mimic" && this.seatOf(ident) !== this.seat) known.mimic(toId(more));
    else if (nameEffect(what)) known.effects.add(nameEffect(what));
  },
  "-end"(ident, what) {
    this.find(ident)?.effects.delete(nameEffect(what));
  },
  "-transform"(ident, target) {
    const known = this.find(ident);
    const model = this.find(target);
    known.species = model.species;
    known.types = model.types;
    known.boosts = { ...model.boosts };
    // Of one's own the next request tells; of theirs, that they are those of ours is no secret.
    known.copied = model.currentMoves.map(([id]) => [id, 1]);
    known.isTransformed = true;
  },
};

function takeCondition(ident, condition) {
  this.find(ident).take(condition);
}

function raise(known, stat, by) {
  known.boosts[stat] = Math.max(-6, Math.min(6, known.boosts[stat] + by));
}

module.exports = { N_MOVES, View };
