"""Find the best constant and the best switch between two for each task, on tuning seeds.

    python tune.py [--task TASK|all] [--episodes 10] [--seed0 0] [--jobs 2]

Writes llmserve_env/tuned.json, which evaluate.py and the agents of evalsite take them from.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from llmserve_env.simulator.agents import Fixed, Switch
from llmserve_env.simulator.workload import TASKS
from llmserve_env.yardsticks import (
    TUNED,
    find_switch,
    list_constants,
    score_all,
    tell_tuned,
)


def tune(task: str, seeds: Sequence[int], n_jobs: int) -> tuple[Fixed, Switch]:
    """Return the best constant of the grid, and the best switch that was found."""
    constants = score_all(task, map(Fixed, list_constants()), seeds, n_processes=n_jobs)
    print(f"{task}: best of {len(constants)} constants {constants[0].mean:.4f}", flush=True)
    switch = find_switch(task, constants, seeds, n_processes=n_jobs)
    print(f"{task}: best switch {switch.mean:.4f}", flush=True)
    fixed = constants[0].agent
    assert isinstance(fixed, Fixed)
    assert isinstance(switch.agent, Switch)
    return fixed, switch.agent


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune; 2 where an option cannot be."""
    parser = argparse.ArgumentParser(description="Find the best constants on tuning seeds.")
    parser.add_argument("--task", choices=[*TASKS, "all"], default="all")
    parser.add_argument("--episodes", type=int, default=10, help="seeds (10)")
    parser.add_argument("--seed0", type=int, default=0, help="the first one (0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    options = parser.parse_args(arguments)
    for name, least in (("episodes", 1), ("seed0", 0), ("jobs", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be {least} or more: {getattr(options, name)}")
    seeds = range(options.seed0, options.seed0 + options.episodes)
    tuned = json.loads(TUNED.read_text()) if TUNED.exists() else {}
    for task in TASKS if options.task == "all" else [options.task]:
        tuned[task] = tell_tuned(*tune(task, seeds, options.jobs))
        TUNED.write_text(json.dumps(tuned, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
