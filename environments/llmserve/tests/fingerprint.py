"""What has to be the same on every machine, as JSON: requests, rewards and scores to the last bit.

python tests/fingerprint.py        # in this package's folder; needs nothing but NumPy
"""

import json
import sys
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from struct import pack

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# As a program, it finds the package by the line above.
from llmserve_env.episode import Episode, grade, write_log
from llmserve_env.simulator.agents import decide_by_rules
from llmserve_env.simulator.settings import CHOICES, FIRST, Settings, choose
from llmserve_env.simulator.workload import TASKS, draw_trace

SEEDS = (0, 42, 10_000, 99_999, 2**63 - 1)


def digest(numbers: Iterable[float]) -> str:
    """Return what tells any two lists of numbers apart, and be it by one bit."""
    listed = list(numbers)
    return sha256(pack(f"<{len(listed)}d", *listed)).hexdigest()[:16]


def digest_traces(task_id: str) -> str:
    return digest(
        number
        for seed in SEEDS
        for row in draw_trace(TASKS[task_id], seed)
        for number in (*row.n_requests, *row.prompt, *row.output, row.acceptance)
    )


def set_every_choice(episode: Episode, last: Settings) -> Settings:
    """Return other settings in each window, until every choice of each field was taken."""
    del last
    n = episode.n_windows
    return choose([n * (3 + field) % len(choices) for field, choices in enumerate(CHOICES)])


def set_by_rules(episode: Episode, last: Settings) -> Settings:
    return decide_by_rules(episode.server, last)


def play(task_id: str, decide: Callable[[Episode, Settings], Settings]) -> dict[str, str]:
    """Return the scores of an episode and of its replayed log, and a digest of all its windows."""
    episode, last, numbers = Episode(task_id, 42), FIRST, list[float]()
    while not episode.is_over:
        last = decide(episode, last)
        sight, reward = episode.step(last)
        numbers += [*sight, reward]
    log = json.loads(json.dumps(write_log(episode)))
    replayed = grade(log["task_id"], log["seed"], [Settings(*row) for row in log["actions"]])
    return {
        "windows": digest(numbers),
        "score": episode.score().hex(),
        "replayed": replayed.hex(),
    }


def take_fingerprint() -> dict[str, object]:
    """Return by task what every build has to come to."""
    return {
        task_id: {
            "traces": digest_traces(task_id),
            "every choice": play(task_id, set_every_choice),
            "rules": play(task_id, set_by_rules),
        }
        for task_id in TASKS
    }


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(take_fingerprint(), indent=2)}\n")
