// A client of a training run in plain JavaScript: plays CartPole with the latest policy, uploads
// what it saw and did, and follows the versions. No package; docs/experience.md has the protocol.
//
//   node client.mjs --run NAME --episodes N [--url URL] [--token T] [--upload-every E] [--download-every E]
//
// in Node.js 18 or newer; EVALSITE_URL and EVALSITE_TOKEN stand for the options. page.html runs it
// in a browser.

const GAME = "cart_pole";
const SHAPE = "[4]";
const N_ACTIONS = 2;
const [FEWEST_STEPS, MOST_STEPS, FEWEST_CUT_STEPS] = [128, 256, 16];
const MOST_BYTES = 256 * 2 ** 20;
const MOST_HEADER_BYTES = 2 ** 20;
const WAIT_S = 2;
const inNode = typeof process !== "undefined" && Boolean(process.versions?.node);
// Node.js 18 has it in a module only.
const web = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

// The physics of CartPole-v1 of Gymnasium: 64-bit inside, observations in 32.
export class CartPole {
  reset(state = Array.from({ length: 4 }, () => Math.random() * 0.1 - 0.05)) {
    this.state = state;
    this.n_steps = 0;
    return Float32Array.from(state);
  }

  step(action) {
    const [x, speed, angle, turn] = this.state;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const push = ((action === 1 ? 10 : -10) + 0.05 * turn * turn * sin) / 1.1;
    const turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - (0.1 * cos * cos) / 1.1));
    const moving = push - (0.05 * turning * cos) / 1.1;
    this.state = [x + 0.02 * speed, speed + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning];
    this.n_steps++;
    const terminated = Math.abs(this.state[0]) > 2.4 || Math.abs(this.state[2]) > Math.PI / 15;
    return { observation: Float32Array.from(this.state), reward: 1, terminated, truncated: this.n_steps >= 500 };
  }
}

// Returns metadata and tensors of a safetensors file of float32; throws for any other.
export function readSafetensors(buffer) {
  const n = buffer.byteLength >= 9 ? Number(new DataView(buffer).getBigUint64(0, true)) : -1;
  const begin = 8 + n;
  if (n < 2 || n > MOST_HEADER_BYTES || begin > buffer.byteLength || new Uint8Array(buffer)[8] !== 0x7b) {
    throw new Error("the weights are not safetensors: no header begins after 8 bytes");
  }
  const header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 8, n)));
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {
    const isRight = [...shape, from, to].every((count) => Number.isSafeInteger(count) && count >= 0);
    const size = 4 * shape.reduce((product, length) => product * length, 1);
    if (dtype !== "F32" || !isRight || to - from !== size || begin + to > buffer.byteLength) {
      throw new Error(`the weights are not safetensors of float32: tensor ${name}`);
    }
    const data = new Float32Array(buffer.slice(begin + from, begin + to)); // little-endian, as all browsers are
    if (!data.every(Number.isFinite)) throw new Error(`tensor ${name} holds NaN or infinity`);
    tensors.set(name, { shape, data });
  }
  return { metadata, tensors };
}

// Returns a function from an observation to the logits of a sealed file's `mlp`.
export function buildPolicy({ metadata, tensors }) {
  const seal = { format: "evalsite/1", architecture: "mlp", game: GAME, observation_shape: SHAPE, n_actions: `${N_ACTIONS}` };
  for (const [name, text] of Object.entries(seal)) {
    if (metadata[name] !== text) throw new Error(`the weights have ${name} ${metadata[name]}, not ${text}`);
  }
  const { hidden = "256,256", activation = "relu" } = JSON.parse(metadata.parameters);
  const activate = { relu: (x) => Math.max(x, 0), tanh: Math.tanh }[activation];
  const sizes = [4, ...`${hidden}`.split(",").filter(Boolean).map(Number)];
  const take = (name, n_inputs, n_outputs) => {
    const [weight, bias] = ["weight", "bias"].map((part) => tensors.get(`${name}.${part}`));
    const isRight = `${weight?.shape}` === `${[n_outputs, n_inputs]}` && `${bias?.shape}` === `${n_outputs}`;
    if (!isRight || !activate) throw new Error(`the weights do not fit their parameters: ${name}`);
    return (row) =>
      Float32Array.from(bias.data, (sum, out) => {
        for (let i = 0; i < n_inputs; i++) sum += weight.data[out * n_inputs + i] * row[i];
        return sum;
      });
  };
  const layers = sizes.slice(1).map((size, i) => take(`body.${2 * i}`, sizes[i], size));
  const policy = take("policy", sizes.at(-1), N_ACTIONS);
  return (observation) => policy(layers.reduce((row, layer) => layer(row).map(activate), observation));
}

// Returns an action that the policy draws and its log-probability.
export function chooseAction(policy, observation, drawn = Math.random()) {
  const logits = policy(observation);
  const most = Math.max(...logits);
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  const logProbs = Array.from(logits, (logit) => Math.min(0, Math.fround(logit - most - total)));
  let action = 0;
  for (let left = drawn - Math.exp(logProbs[0]); left >= 0 && action < N_ACTIONS - 1; ) {
    left -= Math.exp(logProbs[++action]);
  }
  return { action, logProb: logProbs[action] };
}

// Plays episodes for a run; returns what was done. `signal` (an AbortSignal) ends it between steps.
export async function play({ url, run, token = "", episodes, uploadEvery = 1, downloadEvery = 10, signal, say = console.error }) {
  const env = new CartPole();
  const done = { n_episodes: 0, n_steps: 0, n_sent: 0, n_left_out: 0, version: -1, returns: [] };
  const chunks = [];
  let [policy, etag, keep, told, steps] = [null, "", 1, -1, []];
  while (!policy && !signal?.aborted) {
    if (!(await follow())) await wait(WAIT_S, `run ${run} has no version yet`);
  }
  while (done.n_episodes < episodes && !signal?.aborted) {
    playEpisode();
    if (done.n_episodes % uploadEvery === 0) await send();
    if (done.n_episodes % downloadEvery === 0 || told > done.version) {
      await follow().catch((error) => say(`plays on with version ${done.version}: ${error.message}`));
    }
  }
  closeChunk();
  await send();
  return done;

  function playEpisode() {
    let [observation, isOver, total] = [env.reset(), false, 0];
    for (let step = 0; !isOver && !signal?.aborted; step++) {
      const { action, logProb } = chooseAction(policy, observation);
      const next = env.step(action);
      steps.push({ episode: done.n_episodes, step, observation, action, logProb, next });
      isOver = next.terminated || next.truncated;
      if (steps.length === MOST_STEPS || (isOver && steps.length >= FEWEST_STEPS)) closeChunk();
      [observation, total] = [next.observation, total + next.reward];
      done.n_steps++;
    }
    if (!isOver) return;
    done.n_episodes++;
    done.returns = [...done.returns, total].slice(-100);
  }

  // A chunk is of one version; fewer than 16 steps are taken only where an episode ends.
  function closeChunk() {
    const isLast = ({ next }) => next.terminated || next.truncated;
    while (steps.length && steps.length < FEWEST_CUT_STEPS && !isLast(steps.at(-1))) steps.pop();
    const all = steps;
    steps = [];
    if (!all.length) return;
    if (Math.random() >= keep) return void (done.n_left_out += all.length);
    chunks.push({
      v: 1, game: GAME, chunk_id: web.randomUUID().replaceAll("-", ""), policy_version: done.version,
      episodes: all.map(({ episode }) => episode), steps: all.map(({ step }) => step),
      observations: all.map(({ observation }) => [...observation]),
      next_observations: all.map(({ next }) => [...next.observation]),
      actions: all.map(({ action }) => action), rewards: all.map(({ next }) => next.reward),
      terminated: all.map(({ next }) => next.terminated), truncated: all.map(({ next }) => next.truncated),
      log_probs: all.map(({ logProb }) => logProb),
    });
  }

  // Sends what waits; each chunk until it is answered, under the same id: it is stored once.
  async function send() {
    while (chunks.length) {
      const headers = { "Content-Type": "application/json", Authorization: `Token ${token}` };
      const body = JSON.stringify(chunks[0]);
      const answer = await ask(`${url}/api/v1/experience/`, { method: "POST", headers, body });
      if (!answer) return; // stopped while it waited
      if (!answer.ok) throw new Error(`the server refuses a chunk: ${answer.status} ${await answer.text()}`);
      const { latest_policy_version, keep_fraction } = await answer.json();
      done.n_sent += chunks.shift().actions.length;
      [told, keep] = [latest_policy_version, keep_fraction];
    }
  }

  // Takes the latest version if it is a later one, whole and playable; says whether there is one.
  async function follow() {
    const latest = `${url}/api/v1/models/${run}/latest/`;
    const answer = await ask(latest, { headers: etag ? { "If-None-Match": etag } : {} });
    told = -1; // looked for once: another run of the game may have told it
    if (!answer?.ok) return answer?.status === 304;
    const { version, sha256, size, url: link } = await answer.json();
    if (version > done.version) {
      const file = await ask(new URL(link, `${url}/`), {});
      if (!file?.ok) return false;
      const content = size <= MOST_BYTES ? await file.arrayBuffer() : new ArrayBuffer(0);
      const digest = new Uint8Array(await web.subtle.digest("SHA-256", content));
      const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
      if (content.byteLength !== size || hex !== sha256) throw new Error(`version ${version} came with the SHA-256 ${hex}`);
      const later = buildPolicy(readSafetensors(content));
      closeChunk();
      [policy, done.version] = [later, version];
      say(`${done.n_episodes} episodes, ${done.n_sent} steps sent: plays version ${version}`);
    } else if (version < done.version) say(`version ${version} is older than ${done.version}: not taken`);
    etag = answer.headers.get("ETag") ?? "";
    return true;
  }

  // Returns the answer, asked for again while the server is away or asks to wait; null when stopped.
  async function ask(address, options) {
    for (let n_tried = 1; ; n_tried++) {
      const answer = await fetch(address, { cache: "no-store", ...options }).catch((error) => ({ status: 0, error }));
      if (![0, 429, 502, 503, 504].includes(answer.status)) return answer;
      if (signal?.aborted && n_tried > 2) return null;
      await wait(Number(answer.headers?.get("Retry-After") ?? WAIT_S), `${answer.error ?? answer.status}`);
    }
  }

  function wait(seconds, why) {
    say(`waits ${seconds} s: ${why}`);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, 1000 * (signal?.aborted ? 1 : seconds));
      signal?.addEventListener("abort", end);
    });
  }
}

async function main({ env, argv }) {
  const { parseArgs } = await import("node:util");
  const names = ["run", "episodes", "url", "token", "upload-every", "download-every"];
  const { values } = parseArgs({ args: argv.slice(2), options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());
  const done = await play({
    url: (values.url ?? env.EVALSITE_URL ?? "http://127.0.0.1:8000").replace(/\/$/, ""),
    token: values.token ?? env.EVALSITE_TOKEN,
    run: values.run,
    episodes: Number(values.episodes ?? 100),
    uploadEvery: Number(values["upload-every"] ?? 1),
    downloadEvery: Number(values["download-every"] ?? 10),
    signal: stop.signal,
  });
  const { returns, ...told } = done;
  const total = returns.reduce((sum, value) => sum + value, 0);
  console.log(JSON.stringify({ ...told, mean_return: returns.length ? total / returns.length : null }));
  process.exitCode = stop.signal.aborted ? 130 : 0;
}

if (inNode && import.meta.url === (await import("node:url")).pathToFileURL(process.argv[1] ?? "").href) {
  main(process).catch((error) => {
    console.error(`client.mjs: ${error.message}`);
    process.exitCode = 1;
  });
}
