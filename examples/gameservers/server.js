// Nim as a game server in plain JavaScript: no package, no SDK (docs/gameservers.md has the protocol).
//
//   node server.js                          a child process of a player, over stdin and stdout
//   node server.js ws://127.0.0.1:8080 js-1   dials the evaluation head and offers slots as js-1
//
// The built-in WebSocket needs Node.js 22, or 20 with --experimental-websocket; pipes need neither.
"use strict";

const GAME = "nim_js";
const SLOTS = 64;
const MAX_FRAME = 4 << 20;
const OVER = -1;
const COUNTERS = 15;
const TAKE_MOST = 3;

class Nim {
  // Whoever takes the last counter wins. The opening follows from the seed alone: a match whose
  // player is lost goes on elsewhere from its seed and actions.
  constructor(seed, openingPlies) {
    this.left = COUNTERS;
    this.mover = 0;
    this.step = 0;
    let drawn = BigInt(seed);
    for (let ply = 0; ply < openingPlies; ply++) {
      drawn = (drawn * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
      const legal = this.legal().filter((action) => action + 1 < this.left);
      if (legal.length) this.play(legal[Number(drawn >> 33n) % legal.length]);
    }
    this.step = 0; // the opening is no step
  }

  legal() {
    return [...Array(TAKE_MOST).keys()].filter((action) => action < this.left);
  }

  play(action) {
    this.left -= action + 1;
    this.mover = 1 - this.mover;
    this.step++;
  }

  state(episode) {
    const base = { kind: "state", episode, step: this.step };
    if (this.left === 0) {
      return { ...base, seat: OVER, returns: this.mover === 1 ? [1, -1] : [-1, 1] };
    }
    const legal = this.legal();
    return {
      ...base,
      seat: this.mover,
      legal,
      observation: [this.left],
      text: `${this.left} counters are left.`,
      names: legal.map((action) => `take ${action + 1}`),
    };
  }
}

const hello = (name, token = "") => ({
  kind: "hello", protocol: 1, name, game: GAME, rules_version: 1, slots: SLOTS, n_seats: 2,
  n_actions: TAKE_MOST, observation_shape: [1], observation_dtype: "float32",
  ...(token && { token }),
});

// Seeds have up to 63 bits, more than a number of JavaScript holds: they are read as text.
const parse = (text) => JSON.parse(text.replace(/("seed":\s*)(\d+)/g, '$1"$2"'));

const lines = new Set();
const countRunning = () => [...lines].reduce((sum, line) => sum + line.episodes.size, 0);
let isStopping = false;

class Line {
  // What one player says and hears. Its episodes end with it.
  constructor(name) {
    this.name = name;
    this.episodes = new Map();
    this.isGreeted = false;
    this.isOver = false;
    lines.add(this);
  }

  // All that came in a frame is answered in one frame.
  receive(text) {
    let messages;
    try {
      messages = parse(text);
      if (!Array.isArray(messages) || !messages.every((one) => one instanceof Object)) {
        throw new Error("a frame is an array of messages");
      }
    } catch (error) {
      return this.end("bad_message", String(error));
    }
    const answers = [];
    for (const message of messages) {
      if (this.isOver) break;
      const answer = this.isGreeted ? this.answer(message) : this.greet(message);
      if (answer) answers.push(answer);
    }
    return answers.length ? JSON.stringify(answers) : "";
  }

  greet(message) {
    if (message.kind !== "hello" || message.protocol !== 1) {
      return this.refuse("bad_message", "a hello of protocol 1 comes first");
    }
    if (message.game === "") return hello(this.name); // who only asks who this is
    if (message.game !== GAME) return this.refuse("unknown_game", `${this.name} plays ${GAME}`);
    this.isGreeted = true;
    return hello(this.name);
  }

  answer({ kind, episode, seed, opening_plies = 0, actions = [], step, action }) {
    const error = (reason, detail) => ({ kind: "error", episode, reason, detail });
    if (kind === "end") {
      this.episodes.delete(episode);
      return null;
    }
    if (kind === "start") {
      if (isStopping) return error("stopping", `${this.name} stops and begins nothing`);
      if (this.episodes.has(episode)) return error("bad_message", `episode ${episode} has begun`);
      if (countRunning() >= SLOTS) return error("full", `all ${SLOTS} slots are taken`);
      const game = new Nim(seed, opening_plies);
      for (const one of actions) {
        if (!game.legal().includes(one)) return error("illegal", `${one} is not in ${game.legal()}`);
        game.play(one);
      }
      return this.show(episode, game);
    }
    const game = this.episodes.get(episode);
    if (kind !== "act" || !game) return error("bad_message", `no episode ${episode} is open`);
    if (step !== game.step) return error("bad_message", `step is ${step}: must be ${game.step}`);
    if (!game.legal().includes(action)) return error("illegal", `${action} is not in ${game.legal()}`);
    game.play(action);
    return this.show(episode, game);
  }

  show(episode, game) {
    const state = game.state(episode);
    if (state.seat === OVER) this.episodes.delete(episode);
    else this.episodes.set(episode, game);
    return state;
  }

  refuse(reason, detail) {
    this.isOver = true;
    lines.delete(this);
    return { kind: "error", reason, detail };
  }

  end(reason, detail) {
    return JSON.stringify([this.refuse(reason, detail)]);
  }
}

function servePipes() {
  const line = new Line("nim-js");
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const texts = (rest + chunk).split("\n");
    rest = texts.pop();
    for (const text of texts) {
      const answer = line.isOver ? "" : line.receive(text);
      if (answer) process.stdout.write(`${answer}\n`);
    }
    if (line.isOver || rest.length > MAX_FRAME) process.stdin.destroy();
  });
  process.on("SIGTERM", () => process.exit(0));
  process.on("SIGINT", () => {}); // Ctrl-C is for the player, which ends its child
}

function openChannel(url, name) {
  const socket = new WebSocket(url);
  const line = new Line(name);
  line.socket = socket;
  socket.onmessage = ({ data }) => {
    const answer = line.receive(data);
    if (answer) socket.send(answer);
    if (line.isOver) socket.close();
  };
  socket.onclose = () => lines.delete(line);
}

const FIRST_WAIT_MS = 200;

function dialHead(head, name, waitMs = FIRST_WAIT_MS) {
  const socket = new WebSocket(`${head}/serve?name=${encodeURIComponent(name)}`);
  let signs;
  let nextMs = Math.min(2 * waitMs, 5000);
  socket.onopen = () => {
    const tell = () => {
      const load = { playing: countRunning() };
      socket.send(JSON.stringify([{ ...hello(name, process.env.EVALSITE_SERVE_PASS), load }]));
    };
    tell();
    signs = setInterval(tell, 2000); // a sign of life
  };
  socket.onmessage = ({ data }) => {
    for (const message of [JSON.parse(data)].flat()) {
      if (message.kind === "accepted") {
        nextMs = FIRST_WAIT_MS;
        console.error(`${name} is known to the head at ${head}`);
      }
      if (message.kind === "error") console.error(`${head} refuses this server: ${message.detail}`);
      if (message.kind === "dial") openChannel(`${head}/serve/${message.channel}`, name);
    }
  };
  socket.onclose = () => {
    clearInterval(signs);
    if (isStopping) return;
    if (waitMs === FIRST_WAIT_MS) {
      console.error(`no line to ${head}: check the address, and that the head runs; trying again`);
    }
    setTimeout(dialHead, waitMs, head, name, nextMs);
  };
  leaveHead = () => {
    clearInterval(signs);
    if (socket.readyState === WebSocket.OPEN) socket.send('{"kind":"leaving"}');
  };
}

let leaveHead = () => {};

function stop() {
  // Nobody new; what runs may end for ten seconds and is handed back then.
  isStopping = true;
  leaveHead();
  const endMs = Date.now() + 10000;
  const wait = setInterval(() => {
    if (countRunning() && Date.now() < endMs) return;
    clearInterval(wait);
    for (const line of [...lines]) {
      if (line.socket.readyState === WebSocket.OPEN) {
        line.socket.send(line.end("stopping", `${line.name} stops`));
      }
    }
    setTimeout(() => process.exit(0), 100); // for what was sent to go out
  }, 50);
}

const [head, name = "nim-js"] = process.argv.slice(2);
if (!head) servePipes();
else if (typeof WebSocket === "undefined") {
  console.error("server.js: needs Node.js 22, or 20 with --experimental-websocket, to dial a head");
  process.exitCode = 2;
} else if (!/^wss?:\/\//.test(head)) {
  console.error(`server.js: the head is ${head}: must be an address such as ws://head:8080`);
  process.exitCode = 2;
} else {
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  dialHead(head.replace(/\/$/, ""), name);
}
