// Sets of teams: a folder of texts as the package's team builder exports them, one team a file.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const FULL = { hp: 252, atk: 252, def: 252, spa: 252, spd: 252, spe: 252 };

function listFiles(folder) {
  const files = fs.readdirSync(folder).filter((name) => name.endsWith(".txt")).sort();
  if (!files.length) throw new Error(`no team (*.txt) is in ${folder}`);
  return files.map((name) => path.join(folder, name));
}

// SHA-256 over all texts in the order of their names.
function hashTeams(folder) {
  const hash = crypto.createHash("sha256");
  for (const file of listFiles(folder)) hash.update(fs.readFileSync(file)).update("\0");
  return hash.digest("hex");
}

// Return the teams as the package packs them.
function readTeams(showdown, folder) {
  return listFiles(folder).map((file) => showdown.Teams.pack(importTeam(showdown, file)));
}

function importTeam(showdown, file) {
  const text = fs.readFileSync(file, "utf8");
  const team = showdown.Teams.import(text);
  // The team builder leaves out what every team of the first generation has.
  if (!text.includes("EVs:")) for (const set of team ?? []) set.evs = { ...FULL };
  // As the validator leaves a set: without one the package would give it the ability of a later generation.
  for (const set of team ?? []) set.ability ||= "No Ability";
  return team;
}

// Return what keeps the teams from being played, one line a team.
function refuseTeams(showdown, format, folder) {
  const validator = new showdown.TeamValidator(format);
  return listFiles(folder).flatMap((file) => {
    const refusals = refuseTeam(validator, importTeam(showdown, file));
    return refusals.length ? [`${path.basename(file)}: ${refusals.join("; ")}`] : [];
  });
}

function refuseTeam(validator, team) {
  if (!team?.length) return ["it is no team as the team builder exports it"];
  const named = team.filter((set) => set.name && set.name !== set.species);
  const nicknames = named.map((set) => `${set.species} is called ${set.name}, and must go by its species`);
  const species = team.map((set) => set.species);
  const doubled = [...new Set(species.filter((one, place) => species.indexOf(one) < place))];
  const twice = doubled.map((one) => `${one} is there twice, and a Pokemon is known by its species`);
  return [...(validator.validateTeam(team) ?? []), ...nicknames, ...twice];
}

module.exports = { hashTeams, readTeams, refuseTeams };
