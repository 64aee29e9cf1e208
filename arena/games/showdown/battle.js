// One battle of the package, asked seat by seat: what a seat may know comes from its own lines only.
"use strict";

const crypto = require("node:crypto");
const { View } = require("./view.js");

const OVER = -1;
const SIDES = ["p1", "p2"];
// As many turns as the package lets a battle have.
const TURN_LIMIT = 1000;

// The three draws of a battle are apart, so that neither team tells anything of the dice.
const drawSeed = (seed, what) =>
  `sodium,${crypto.createHash("sha256").update(`${what}:${seed}`).digest("hex")}`;

class IllegalChoice extends Error {}

class SeatedBattle {
  // seed: text, as it has up to 63 bits. teams: packed sets to draw from, none where the format makes its own.
  constructor(showdown, { format, seed, teams, names = ["Seat 0", "Seat 1"] }) {
    this.views = SIDES.map((_, seat) => new View(seat, showdown.Dex.forFormat(format)));
    this.step = 0;
    this.nRead = 0;
    this.nReadBefore = 0; // of the log, at the time of the last choice
    this.chosen = null; // what seat 0 has chosen, until seat 1 has
    this.battle = new showdown.Battle({ formatid: format, seed: drawSeed(seed, "dice") });
    SIDES.forEach((side, seat) => {
      const drawn = drawSeed(seed, `team ${seat}`);
      const team = teams.length
        ? teams[new showdown.PRNG(drawn).random(teams.length)]
        : showdown.Teams.pack(showdown.Teams.generate(format, { seed: drawn }));
      this.battle.setPlayer(side, { name: names[seat], team });
    });
    // The package moves its Pokemon about as they enter.
    for (const side of this.battle.sides) side.pokemon.forEach((one, place) => (one.place = place));
    this.inform();
  }

  // The seat that is asked next: both choose at the same time, so seat 0 is asked first.
  get seat() {
    if (this.battle.ended) return OVER;
    return this.mustChoose(0) && this.chosen === null ? 0 : 1;
  }

  get returns() {
    const { winner } = this.battle;
    return SIDES.map((_, seat) => (winner ? (winner === this.battle.sides[seat].name ? 1 : -1) : 0));
  }

  mustChoose(seat) {
    const request = this.battle.sides[seat].activeRequest;
    return Boolean(request) && !request.wait;
  }

  // Play the action of the seat that is asked. Raises IllegalChoice and changes nothing.
  apply(action) {
    const { seat } = this;
    if (seat === OVER) throw new IllegalChoice("the battle is over");
    const legal = this.views[seat].legal();
    if (!legal.includes(action)) throw new IllegalChoice(`${action} is not in [${legal.join(", ")}]`);
    const text = this.views[seat].chooseText(action);
    this.step++;
    if (seat === 0 && this.mustChoose(1)) {
      this.chosen = text;
      return;
    }
    if (this.chosen !== null) this.choose(0, this.chosen);
    this.chosen = null;
    this.choose(seat, text);
    this.inform();
  }

  choose(seat, text) {
    if (!this.battle.choose(SIDES[seat], text)) {
      throw new Error(`the package refuses ${text} of seat ${seat}: ${this.battle.sides[seat].choice.error}`);
    }
  }

  // What was said since the last choice, as a seat got it; null: with all that is secret.
  linesOf(seat) {
    return readLines(this.battle.log, this.nReadBefore, seat);
  }

  // What the package has to say to each player since the last time goes to their views.
  inform() {
    this.nReadBefore = this.nRead;
    this.nRead = this.battle.log.length;
    this.views.forEach((view, seat) => {
      for (const line of this.linesOf(seat)) view.receive(line);
    });
    this.views.forEach((view, seat) => {
      if (this.mustChoose(seat)) view.request(this.battle.sides[seat].activeRequest);
    });
  }
}

// The lines of a log that a seat gets; null: with all that is secret.
function* readLines(log, from, seat, to = log.length) {
  for (let at = from; at < to; at++) {
    const owner = log[at].startsWith("|split|") ? SIDES.indexOf(log[at].slice(7)) : -1;
    if (owner < 0) {
      yield log[at];
      continue;
    }
    // A secret line for one side follows, then the one for everybody else, if there is one.
    const line = log[at + (seat === null || seat === owner ? 1 : 2)];
    if (line) yield line;
    at += 2;
  }
}

module.exports = { IllegalChoice, OVER, SIDES, SeatedBattle, TURN_LIMIT, readLines };
