"""Players upload what they do, a trainer learns from it, players follow: until CartPole is solved.

./run bench loop [--seeds N] [--clients N] [--limit S] [--json FILE]

All over HTTP on a stack of its own: `evalsite xp-client` processes, stream, sink, trainer, control,
and play nodes that judge what is released. A version is chosen when its greedy policy has a mean
return of 475 in 20 episodes and of 485 in 100; whether it solves the task, 100 fresh ones say. All
have seeds that no player has.
"""

import os
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
from time import monotonic, sleep
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.stacks import private_stack, wait_until
from evalsite_client import Client
from evalsite_client.errors import NotThereError
from evalsite_client.experience.policies import Mlp
from evalsite_client.experience.releases import Follower
from launcher.programs import ONE_THREAD, PYTHON

ENV, GAME, ALGORITHM = "CartPole-v1", "cart_pole", "appo"
SOLVED, N_LOOKED_AT, N_CONFIRMED = 475.0, 20, 100
# In the hundred episodes that choose a version: it is measured in others, which chose nothing.
CHOSEN = 485.0
MOST_STEPS, MOST_S = 60_000, 120.0
POLL_S = 0.5
JUDGED_S = 180.0
# Of the episodes in which versions are looked at: players draw theirs below it.
FIRST_SEED = 2**31


class Solved(NamedTuple):
    """The version that was chosen, how many looks it took, and its mean of fresh episodes."""

    version: int
    n_looks: int
    mean_return: float
    elapsed_s: float


def measure(options: Namespace) -> dict[str, Any]:
    """Return the figures of all seeds."""
    shape: dict[str, Any] = {"web": True, "nodes": 1, "gpus": 1, "trainers": 1, "experience": True}
    with (
        private_stack(**shape, settings={"EVALSITE_EXPERIENCE_QUOTA": "0"}) as stack,
        Client(stack.plan.addresses()["Board"], _issue_token()) as client,
    ):
        rows = [_train(client, seed, options) for seed in range(options.seeds)]
    solved = [row for row in rows if row["is_solved"]]
    return {
        "solved_transitions": [row["transitions"] for row in rows],
        "solved_s": [row["elapsed_s"] for row in rows],
        "seeds_solved": len(solved),
        "n_seeds": len(rows),
        "mean_return": [row["mean_return"] for row in rows],
        "versions": [row["versions"] for row in rows],
        "lag_mean": fmean(row["lag_mean"] for row in rows),
        "rated_versions": [row["rated_versions"] for row in rows],
        "seeds": rows,
    }


def _issue_token() -> str:
    """Return a token of the stack's own database."""
    from matches.access.tokens import find_or_issue_token  # noqa: PLC0415

    return find_or_issue_token("", user="bench", name="loop")


def _train(client: Client, seed: int, options: Namespace) -> dict[str, Any]:
    name = f"loop-{seed}"
    began_s = monotonic()
    client.runs.start(name=name, game=GAME, algorithm=ALGORITHM, seed=seed, margin=50.0)
    with _play(client, name, seed=seed, n=options.clients):
        solved, lags = _await_solution(client, name, began_s=began_s, limit_s=options.limit)
    run = client.runs.stop(name, reason="measured")
    versions = {version.version: version for version in client.models.versions(name)}
    elapsed_s = monotonic() - began_s if solved is None else solved.elapsed_s
    row = {
        "seed": seed,
        "is_solved": bool(solved and solved.mean_return >= SOLVED and elapsed_s <= MOST_S),
        "transitions": run.n_steps if solved is None else versions[solved.version].n_steps,
        "elapsed_s": round(elapsed_s, 1),
        "mean_return": None if solved is None else solved.mean_return,
        "looks": 0 if solved is None else solved.n_looks,
        "versions": len(versions),
        "lag_mean": fmean(lags) if lags else 0.0,
        "rated_versions": _count_rated(client, name),
    }
    print(row, flush=True)
    return row


@contextmanager
def _play(client: Client, run: str, *, seed: int, n: int) -> Iterator[None]:
    """Let players play for a run; end them after the block."""
    env = {**os.environ, **ONE_THREAD, "EVALSITE_URL": client.base_url}
    env["EVALSITE_TOKEN"] = _issue_token()
    command = [PYTHON, "-m", "evalsite_client", "xp-client", "--env", ENV, "--run", run]
    options = ["--episodes", "1000000", "--download-every", "1"]
    players = [
        subprocess.Popen(
            [*command, *options, "--seed", str(1_000 * seed + number)],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(n)
    ]
    try:
        yield
    finally:
        for player in players:
            player.terminate()
        for player in players:
            player.wait()


def _await_solution(
    client: Client, name: str, *, began_s: float, limit_s: float
) -> tuple[Solved | None, list[float]]:
    """Look at each new version that does well; return the one that solves it, None: none does."""
    game = next(game for game in client.games.list() if game.id == GAME)
    follower, lags, n_looks = Follower(client.models, name, game, say=print), [], 0
    while monotonic() - began_s < limit_s:
        sleep(POLL_S)
        run = client.runs.get(name)
        if "lag" in run.metrics:
            lags.append(float(run.metrics["lag"]))
        try:
            is_new = follower.follow()
        except NotThereError:
            continue
        if not is_new or follower.policy is None:
            continue
        n_looks += 1
        if _is_chosen(follower.policy, number=3 * n_looks):
            elapsed_s = monotonic() - began_s
            mean_return = _measure_return(follower.policy, N_CONFIRMED, number=3 * n_looks + 2)
            return Solved(follower.version, n_looks, mean_return, elapsed_s), lags
    return None, lags


def _is_chosen(policy: Mlp, *, number: int) -> bool:
    return (
        _measure_return(policy, N_LOOKED_AT, number=number) >= SOLVED
        and _measure_return(policy, N_CONFIRMED, number=number + 1) >= CHOSEN
    )


def _measure_return(policy: Mlp, n: int, *, number: int) -> float:
    """Return the mean return of n greedy episodes, all played at once; number: of the seeds."""
    envs = gymnasium.make_vec(ENV, num_envs=n, vectorization_mode="vector_entry_point")
    observations, _ = envs.reset(seed=FIRST_SEED + N_CONFIRMED * number)
    returns, is_on = np.zeros(n), np.ones(n, np.bool_)
    while is_on.any():
        actions = policy.compute_logits(observations.astype(np.float32)).argmax(1)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        returns += rewards * is_on
        is_on &= ~(terminated | truncated)
    envs.close()
    return float(returns.mean())


def _count_rated(client: Client, name: str) -> int:
    """Return how many versions became agents and have a rating, once the last one is judged."""

    def is_judged() -> bool:
        agents = [version for version in client.models.versions(name) if version.agent is not None]
        return bool(agents) and all(version.state != "candidate" for version in agents)

    try:
        wait_until(is_judged, limit_s=JUDGED_S, what=f"the last version of {name}")
    except TimeoutError as error:
        print(error, flush=True)
    return sum(version.judged_at is not None for version in client.models.versions(name))


def main(arguments: Sequence[str]) -> int:
    """Measure; print the table. Return 0 where every seed is solved within the limits, else 1."""
    parser = make_parser("loop", "Solve CartPole by what clients upload, once for each seed.")
    parser.add_argument("--seeds", type=whole_number(1), default=4, metavar="N")
    parser.add_argument("--clients", type=whole_number(1), default=4, metavar="N")
    parser.add_argument("--limit", type=number_of_seconds(1), default=MOST_S, metavar="S")
    options = parser.parse_args(arguments)
    figures = measure(options)
    table = format_table(
        ("seed", "steps", "limit", "ratio", "s", "limit s", "return", "versions", "rated"),
        [
            (
                *(row["seed"], row["transitions"], MOST_STEPS, row["transitions"] / MOST_STEPS),
                *(row["elapsed_s"], MOST_S, row["mean_return"], row["versions"]),
                row["rated_versions"],
            )
            for row in figures["seeds"]
        ],
    )
    write_report(table, figures, options.json)
    fits = all(row["is_solved"] and row["transitions"] <= MOST_STEPS for row in figures["seeds"])
    return 0 if fits else 1
