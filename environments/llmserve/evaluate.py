"""Score agents on equal seeds, and compare each with each.

    python evaluate.py --agent ppo|all [--task all] [--episodes 20] [--seed0 10000] [--json FILE]
    OPENAI_API_KEY=... python evaluate.py --agent llm heuristic best_fixed --model M
    python evaluate.py --agent ppo|all --task TASK --seeds FILE

A file of seeds repeats what was played elsewhere, as by evalsite, whose game seeds are hashes.
`hindsight` is the best of 900 constants on the very seeds of the evaluation, `lookahead` knows the
requests to come: both are bounds and no agents that anybody could use. `llm` asks a model 90 times
an episode, through OpenAI's API or what OPENAI_BASE_URL names; `all` has it only with --model.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import permutations
from multiprocessing import Pool
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, Final

from llmserve_env.errors import UnavailableError
from llmserve_env.network import WeightsError, load_network
from llmserve_env.simulator.agents import Decide, Fixed, Lookahead, decide_by_rules
from llmserve_env.simulator.settings import CHOICES, Settings, choose
from llmserve_env.simulator.simulator import Server
from llmserve_env.simulator.workload import N_WINDOWS, TASKS
from llmserve_env.yardsticks import compare, list_constants, read_tuned, score_all, score_episode

AGENTS: Final = ("random", "heuristic", "best_fixed", "hindsight", "switch", "ppo", "lookahead")
LLM: Final = "llm"
WEIGHTS: Final = Path(__file__).parent / "weights"
FIRST_SEED, N_SEEDS, LEAST_SEEDS = 10_000, 20, 2
MOST_SEED: Final = 100_000
"""Seeds from 1,000,000 on are for training; those below this for everything else."""
GIVEN: Final = range(2**63)
TRAINING: Final = range(1_000_000, 2**32)
"""What no given seed may be, as a policy may have learned on it: of 2^31 hashes one lies there."""

Scores = dict[str, dict[str, list[float]]]


class RandomSettings:
    """Draws each choice anew; the same in every episode of a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def decide(self, server: Server, last: Settings) -> Settings:
        """Return any settings."""
        del server, last
        return choose([self._rng.randrange(len(choices)) for choices in CHOICES])


def score_at_random(task: str, seed: int) -> float:
    """Return the score of random settings."""
    return score_episode(task, RandomSettings(seed).decide, seed)


def find_scorer(agent: str, task: str, weights: Path) -> Callable[[int], float]:
    """Return what scores an agent on a seed. Raises WeightsError."""
    if agent == "random":
        return partial(score_at_random, task)
    return partial(score_episode, task, _find_decide(agent, task, weights))


def _find_decide(agent: str, task: str, weights: Path) -> Decide:
    if agent == "ppo":
        return load_network(weights / f"{task}.safetensors").decide
    if agent == "heuristic":
        return decide_by_rules
    if agent == "lookahead":
        return Lookahead().decide
    fixed, switch = read_tuned()[task]
    return fixed.decide if agent == "best_fixed" else switch.decide


def score_agents(
    agents: Sequence[str], tasks: Sequence[str], seeds: Sequence[int], options: argparse.Namespace
) -> Iterator[tuple[str, str, list[float]]]:
    """Yield task, agent and its scores by seed."""
    for task in tasks:
        for agent in agents:
            if agent == "hindsight":
                constants = map(Fixed, list_constants())
                best = score_all(task, constants, seeds, n_processes=options.jobs)[0]
                yield task, agent, list(best.scores)
                continue
            scorer = find_scorer(agent, task, options.weights)
            with Pool(options.jobs) as pool:
                yield task, agent, pool.map(scorer, seeds)


def score_language_model(
    options: argparse.Namespace, task: str, seeds: Sequence[int]
) -> tuple[list[float], int]:
    """Return its scores by seed, and how many of its answers were no valid action."""
    # What it needs imports all of OpenEnv, which takes seconds that nobody else shall wait for.
    asking = import_module("llmserve_env.llm_scores")
    by_seed, n_invalid = asking.score_model(options.model, task, seeds, n_at_once=options.jobs)
    print(
        f"{task}: {n_invalid} of {len(seeds) * N_WINDOWS} answers of {options.model} were invalid"
    )
    return by_seed, n_invalid


def list_paired(scores: Scores) -> Iterator[dict[str, Any]]:
    """Yield how far each agent is ahead of each other one, by task."""
    for task, by_agent in scores.items():
        for agent, against in permutations(by_agent, 2):
            paired = compare(by_agent[agent], by_agent[against])
            yield {"agent": agent, "against": against, "task": task, **paired._asdict()}


def print_table(scores: Scores) -> None:
    """Print the mean scores, and what separates learned policy and language model from others."""
    agents = list(next(iter(scores.values())))
    print(f"{'':<26}" + "".join(f"{agent:>12}" for agent in agents))
    for task, by_agent in scores.items():
        print(f"{task:<26}" + "".join(f"{mean(by_agent[agent]):>12.4f}" for agent in agents))
    for row in list_paired(scores):
        if row["agent"] in ("ppo", LLM):
            ahead = f"{row['mean']:+.4f} +- {row['se']:.4f}, ahead on {row['wins']:.0%}"
            print(f"{row['task']}: {row['agent']} against {row['against']}: {ahead}")


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score agents on equal seeds.")
    agents = [*AGENTS, LLM, "all"]
    parser.add_argument("--agent", choices=agents, default=["all"], nargs="+", help="one or some")
    parser.add_argument("--model", metavar="M", help="which model llm is")
    parser.add_argument("--task", choices=[*TASKS, "all"], default="all")
    parser.add_argument("--episodes", type=int, help=f"seeds, 2 at least ({N_SEEDS})")
    parser.add_argument("--seed0", type=int, help=f"the first one ({FIRST_SEED})")
    parser.add_argument(
        "--seeds",
        type=read_seeds,
        metavar="FILE",
        help="of seeds to take instead, such as those of evalsite",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="folder of the policies")
    parser.add_argument("--json", type=Path, help="write figures to this file")
    options = parser.parse_args(arguments)
    _refuse_model(parser, options)
    if options.jobs < 1:
        parser.error(f"--jobs must be 1 or more: {options.jobs}")
    if options.seeds is None:
        options.seeds = _list_own_seeds(parser, options)
    elif (options.episodes, options.seed0) != (None, None):
        parser.error("--seeds FILE names all: leave --episodes and --seed0 out")
    return options


def _refuse_model(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with 2 where a model is missing, asked for in vain or cannot be asked."""
    if LLM in options.agent and not options.model:
        parser.error("--agent llm needs --model")
    if options.model and not {LLM, "all"}.intersection(options.agent):
        parser.error("--model is for --agent llm or all")
    if options.model and not os.environ.get("OPENAI_API_KEY", "").strip():
        parser.error("--model: OPENAI_API_KEY is not set, a model cannot be asked without it")


def _list_own_seeds(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[int]:
    n = N_SEEDS if options.episodes is None else options.episodes
    first = FIRST_SEED if options.seed0 is None else options.seed0
    for name, value, least in (("episodes", n, LEAST_SEEDS), ("seed0", first, 0)):
        if value < least:
            parser.error(f"--{name} must be {least} or more: {value}")
    if first + n > MOST_SEED:
        parser.error(f"--seed0 {first}: the last seed must be below {MOST_SEED}")
    return list(range(first, first + n))


def read_seeds(path: str) -> list[int]:
    """Return the seeds of a file, divided by white space. Raises ArgumentTypeError."""
    try:
        seeds = [int(word) for word in Path(path).read_text().split()]
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: no file of whole numbers: {error}") from error
    refused = [seed for seed in seeds if seed not in GIVEN or seed in TRAINING]
    if refused:
        rule = f"0 to {GIVEN[-1]}, and not {TRAINING[0]} to {TRAINING[-1]}, which are for training"
        raise argparse.ArgumentTypeError(f"{path}: {refused[0]} must be in {rule}")
    n_different = len(set(seeds))
    if not LEAST_SEEDS <= n_different == len(seeds):
        rule = f"must name {LEAST_SEEDS} seeds or more, each once"
        raise argparse.ArgumentTypeError(f"{path}: {rule}: {n_different} different of {len(seeds)}")
    return seeds


def evaluate(options: argparse.Namespace) -> Mapping[str, Any]:
    """Return the figures, printed as they come."""
    agents = AGENTS if "all" in options.agent else [one for one in AGENTS if one in options.agent]
    tasks = list(TASKS) if options.task == "all" else [options.task]
    scores: Scores = {task: {} for task in tasks}
    invalid: dict[str, int] = {}
    # Before all others: it may fail, which should not cost what they have taken minutes for.
    for task in tasks if options.model else ():
        scores[task][LLM], invalid[task] = score_language_model(options, task, options.seeds)
    for task, agent, by_seed in score_agents(agents, tasks, options.seeds, options):
        scores[task][agent] = by_seed
        print(f"{task}: {agent} {mean(by_seed):.4f}", file=sys.stderr, flush=True)
    print_table(scores)
    table = {
        task: {agent: mean(by_seed) for agent, by_seed in one.items()}
        for task, one in scores.items()
    }
    return {
        "table": table,
        "paired": list(list_paired(scores)),
        "seeds": list(options.seeds),
        "scores": scores,
        **({"model": options.model, "invalid_answers": invalid} if options.model else {}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate; 2 where an option or the weights cannot be, or a model fails."""
    options = _read_options(arguments)
    try:
        figures = evaluate(options)
    except (WeightsError, UnavailableError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
