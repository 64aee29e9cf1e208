// Says of a folder of teams what the package's validator refuses, and else their hash, as JSON.
//
//   node teams_check.js FORMAT PACKAGE_VERSION FOLDER
"use strict";

const { openPackage, refuseFormat } = require("./package.js");
const { hashTeams, refuseTeams } = require("./teams.js");

function check([format, version, folder]) {
  try {
    const showdown = openPackage(version);
    const refusal = refuseFormat(showdown, format);
    if (refusal) return { refusals: [refusal] };
    return { refusals: refuseTeams(showdown, format, folder), hash: hashTeams(folder) };
  } catch (error) {
    return { refusals: [error.message] };
  }
}

process.stdout.write(JSON.stringify(check(process.argv.slice(2))));
