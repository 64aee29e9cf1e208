// The simulator of Pokemon Showdown as a child process of a player: many battles over stdin and stdout
// (docs/gameservers.md has the protocol). EVALSITE_SHOWDOWN is the folder that holds its node_modules.
//
//   node driver.js GAME FORMAT RULES_VERSION PACKAGE_VERSION [TEAMS_FOLDER TEAMS_HASH]
"use strict";

const { IllegalChoice, OVER, SeatedBattle, readLines } = require("./battle.js");
const { SIZE } = require("./features.js");
const { openPackage, refuseFormat } = require("./package.js");
const { showBattle } = require("./show.js");
const { hashTeams, readTeams } = require("./teams.js");

const N_ACTIONS = 10;
const SLOTS = 4096;
// Of a frame of ours; a player takes 4 MiB.
const MAX_BYTES = 3 << 20;

// What those ask who look on (here.py), by kind of message.
const ASKED = { show: showAll, observe: observeSeat, log: writeLog };

// Seeds have up to 63 bits, more than a number of JavaScript holds: they are read as text.
const parse = (text) => JSON.parse(text.replace(/("seed":\s*)(\d+)/g, '$1"$2"'));

class Host {
  constructor({ showdown, game, format, rulesVersion, teams }) {
    Object.assign(this, { showdown, game, format, rulesVersion, teams });
    this.battles = new Map();
    this.isWatched = false;
  }

  // The answer to a message, none where none is due; raw: the observations of the frame so far.
  answer(message, raw) {
    switch (message.kind) {
      case "hello":
        return this.greet(message);
      case "start":
        return this.attempt(message, () => this.describe(message.episode, this.start(message), raw));
      case "act":
        return this.attempt(message, () => this.describe(message.episode, this.act(message), raw));
      case "end":
        this.forget(message.episode);
        return null;
      case "show":
      case "observe":
      case "log":
        return this.attempt(message, () => ASKED[message.kind](this.find(message.episode), message));
      default:
        return { kind: "error", reason: "protocol", detail: `no message is of kind ${message.kind}` };
    }
  }

  greet({ protocol, game, is_watched: isWatched = false }) {
    this.isWatched = isWatched;
    if (protocol !== 1) return { kind: "error", reason: "protocol", detail: "this driver speaks 1" };
    if (game && game !== this.game) return { kind: "error", reason: "game", detail: `this is ${this.game}` };
    return {
      kind: "hello", protocol: 1, name: "showdown", game: this.game, rules_version: this.rulesVersion, slots: SLOTS,
      n_seats: 2, n_actions: N_ACTIONS, observation_shape: [SIZE], observation_dtype: "float32",
    };
  }

  start({ episode, seed, opening_plies: openingPlies = 0, actions = [] }) {
    if (openingPlies) throw new Error(`opening_plies must be 0, is ${openingPlies}`);
    const battle = new SeatedBattle(this.showdown, { format: this.format, seed, teams: this.teams });
    this.battles.set(episode, battle);
    for (const action of actions) battle.apply(action);
    return battle;
  }

  find(episode) {
    const battle = this.battles.get(episode);
    if (!battle) throw new Error(`no episode ${episode} is open`);
    return battle;
  }

  act({ episode, step, action }) {
    const battle = this.find(episode);
    if (battle.step !== step) throw new Error(`${battle.step} actions were played, not ${step}`);
    battle.apply(action);
    return battle;
  }

  attempt({ episode }, answer) {
    try {
      return answer();
    } catch (error) {
      this.forget(episode);
      const reason = error instanceof IllegalChoice ? "illegal" : "fault";
      return { kind: "error", episode, reason, detail: String(error.message).slice(0, 300) };
    }
  }

  describe(episode, battle, raw) {
    const { seat, step } = battle;
    if (seat === OVER) {
      const { returns } = battle;
      // Who looks on asks for what is shown at the end, and gives it up after that.
      if (!this.isWatched) this.forget(episode);
      return { kind: "state", episode, step, seat, returns };
    }
    const view = battle.views[seat];
    const at = raw.push(view.observe());
    return { kind: "state", episode, step, seat, legal: view.legal(), at: (at - 1) * SIZE * 4 };
  }

  forget(episode) {
    this.battles.get(episode)?.battle.destroy();
    this.battles.delete(episode);
  }
}

// The battle as it is, and as each seat sees it.
function showAll(battle, { episode }) {
  const { seat } = battle;
  const view = battle.views[seat];
  const names = view ? view.legal().map((action) => view.nameAction(action)) : [];
  return { kind: "shown", episode, names, views: [null, 0, 1].map((who) => showBattle(battle, who)) };
}

function observeSeat(battle, { episode, seat }) {
  return { kind: "observation", episode, observation: [...battle.views[seat].observe()] };
}

// The log that the package's viewer reads, and the choices that its simulator plays again.
function writeLog({ battle }, { episode }) {
  const log = [...readLines(battle.log, 0, null)].filter((line) => !line.startsWith("|t:|"));
  return { kind: "log", episode, log, choices: battle.inputLog };
}

function writeFrame(answers, raw) {
  if (raw.length) answers.push({ kind: "bytes", n: raw.length * SIZE * 4 });
  const parts = [Buffer.from(`${JSON.stringify(answers)}\n`)];
  for (const numbers of raw) parts.push(Buffer.from(numbers.buffer));
  process.stdout.write(Buffer.concat(parts));
}

function takeLine(host, line) {
  let answers = [];
  let raw = [];
  for (const message of parse(line)) {
    const answer = host.answer(message, raw);
    if (answer) answers.push(answer);
    if (raw.length * SIZE * 4 > MAX_BYTES) {
      writeFrame(answers, raw);
      [answers, raw] = [[], []];
    }
  }
  if (answers.length) writeFrame(answers, raw);
}

function main([game, format, rulesVersion, version, folder, hash]) {
  const showdown = openPackage(version);
  const refusal = refuseFormat(showdown, format);
  if (refusal) throw new Error(refusal);
  if (folder && hashTeams(folder) !== hash) {
    throw new Error(`the teams in ${folder} are not those of ${game}: ./run showdown teams`);
  }
  const teams = folder ? readTeams(showdown, folder) : [];
  const host = new Host({ showdown, game, format, rulesVersion: Number(rulesVersion), teams });
  let rest = [];
  process.stdin.on("data", (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      rest.push(chunk.subarray(from, end));
      takeLine(host, Buffer.concat(rest).toString());
      rest = [];
      from = end + 1;
    }
    rest.push(chunk.subarray(from));
  });
  process.stdin.on("end", () => process.exit(0));
}

// What ends it is said in one line, which is shown with the reason of its death.
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message.split("\n")[0]}\n`);
  process.exit(1);
});
main(process.argv.slice(2));
