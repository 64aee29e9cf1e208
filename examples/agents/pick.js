// An agent for Node.js: takes a legal action by the seed of the decision.
//
//     EVALSITE_PROGRAMS="pick=node $PWD/examples/agents/pick.js" ./run up            (docs/agents.md)
//
// To see what becomes of an agent that misbehaves: `pick.js die 3` exits at the third move of a match,
// `hang 3` says nothing, `lie 3` plays what is not legal, `babble 3` says what is no message.
"use strict";
const readline = require("node:readline");

const [fault = "", atMove = "0"] = process.argv.slice(2);
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    say({ type: "hello", name: "pick in JavaScript", version: "1", wants: ["observation"] });
    return;
  }
  const legal = message.legal_actions;
  let action = legal[message.seed % legal.length];
  if (fault && message.n_moves >= Number(atMove)) {
    if (fault === "die") throw new Error("no idea what to play");
    if (fault === "hang") return;
    if (fault === "babble") return void process.stdout.write("e2e4\n");
    action = 999999;
  }
  say({ type: "action", id: message.id, action });
});
