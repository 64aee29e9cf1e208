"""Train the policy of a task: PPO whose advantages are measured by branching the simulator.

    python train.py --task TASK|all [--steps 120000] [--from-fixed] [--seed 0] [--out weights]

From every window of an episode several settings are drawn and kept for some windows, each in a copy
of the server that goes on under the same requests; an advantage is what one of them serves beyond
their mean. (Schulman et al. 2015, Trust Region Policy Optimization, section 5.2, call it vine; the
clipped update is that of Schulman et al. 2017.) Needs torch; seeds are 1,000,000 and above.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import nn

from llmserve_env.network import HIDDEN, MASKS, N_ACTIONS, Network
from llmserve_env.simulator.agents import decide_by_rules, find_choices, foresee
from llmserve_env.simulator.features import N_FIELDS, SIZE
from llmserve_env.simulator.grading import Grader
from llmserve_env.simulator.settings import FIRST, Settings, choose
from llmserve_env.simulator.simulator import Server
from llmserve_env.simulator.workload import N_WINDOWS, TASKS
from llmserve_env.yardsticks import read_tuned, score_episode

FIRST_SEED: Final = 1_000_000
SEEDS_PER_RUN: Final = 1_000_000
VALIDATION: Final = tuple(range(50_000, 50_020))
N_EPISODES, N_BRANCHES, N_KEPT = 16, 8, 6
"""Episodes of an update; settings that are drawn for a window, and windows that they are kept."""
RATE, CLIP, N_EPOCHS, BATCH = 1e-3, 0.2, 3, 2_048
ENTROPY, VALUE_SHARE, MOST_GRADIENT = 0.01, 0.5, 0.5
VALIDATE_EVERY: Final = 5
SURE: Final = (0.4, 0.4, 0.4, 0.98, 0.98, 0.4)
"""By field, how likely a policy that begins at a constant takes its choice, and any other else."""
N_LESSONS: Final = 400
HELD: Final = 0.7
"""How often, at first, a window is run as the one before: else each would load other weights."""

Arrays = dict[str, NDArray[np.float32]]


class Policy(nn.Module):
    """Evalsite's architecture mlp with tanh and 128,128: its names, so that weights fit both."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(SIZE, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh()
        )
        self.policy = nn.Linear(HIDDEN, N_ACTIONS)
        self.value = nn.Linear(HIDDEN, 1)
        with torch.no_grad():
            self.policy.weight.mul_(0.05)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-probabilities [B, N_FIELDS, N_ACTIONS] and scores [B] of [B, N_FIELDS, SIZE].

        A score is read before the first choice.
        """
        features = self.body(observations)
        masks = torch.from_numpy(MASKS)
        logits = self.policy(features).masked_fill(~masks, -1e9)
        return torch.log_softmax(logits, -1), self.value(features[:, 0]).squeeze(-1).tanh()

    def export(self) -> Arrays:
        """Return the weights as arrays."""
        return {name: tensor.detach().numpy() for name, tensor in self.state_dict().items()}


class Episode(NamedTuple):
    """What was drawn in an episode, and what came of each draw."""

    seen: NDArray[np.float32]
    choices: NDArray[np.int64]
    log_p: NDArray[np.float32]
    served: NDArray[np.float64]
    score: float


def play(task: str, weights: Arrays, held: float, seed: int) -> Episode:
    """Play an episode, and branch off from each of its windows; held: see HELD."""
    network, rng = Network(weights), np.random.default_rng(seed)
    server, grader = Server(TASKS[task], seed), Grader()
    before = find_choices(FIRST)
    rows = []
    for _ in range(N_WINDOWS):
        seen, choices, log_p = network.sample(server, before, N_BRANCHES, rng)
        served = [foresee(server, choose(one.tolist()), N_KEPT) for one in choices]
        rows.append((seen, choices, log_p, served))
        if rng.random() >= held:
            before = choices[0].tolist()
        grader.add(server.run_window(choose(before)))
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return Episode(*columns, grader.score())


def begin_at(policy: Policy, constant: Sequence[int], episodes: Sequence[Episode]) -> None:
    """Teach a new policy to take mostly the choices of a constant, whatever it sees.

    Other weights pay only if they are kept for longer than a draw is followed: from nothing, no
    policy comes to a split.
    """
    seen = torch.from_numpy(np.concatenate([one.seen for one in episodes]))
    seen = seen.reshape(-1, N_FIELDS, SIZE)
    sure = torch.tensor(SURE).unsqueeze(1)
    masks = torch.from_numpy(MASKS).float()
    chosen = nn.functional.one_hot(torch.tensor(constant), N_ACTIONS)
    target = sure * chosen + (1 - sure) * masks / masks.sum(1, keepdim=True)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3 * RATE)
    for _ in range(N_LESSONS):
        log_p, _ = policy(seen[torch.randint(len(seen), (256,))])
        loss = -(target * log_p.clamp(min=-50)).sum((-1, -2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Batch(NamedTuple):
    """The draws of some episodes, N_BRANCHES for each window."""

    seen: torch.Tensor
    choices: torch.Tensor
    log_p: torch.Tensor
    advantages: torch.Tensor
    scores: torch.Tensor


def collect(episodes: Sequence[Episode]) -> Batch:
    """Return all draws with what each brought beyond the mean of its window."""
    served = np.concatenate([episode.served for episode in episodes])
    advantages = served - served.mean(1, keepdims=True)
    n = advantages.size
    scores = np.repeat([episode.score for episode in episodes], N_WINDOWS * N_BRANCHES)
    return Batch(
        torch.from_numpy(np.concatenate([e.seen for e in episodes]).reshape(n, N_FIELDS, SIZE)),
        torch.from_numpy(np.concatenate([e.choices for e in episodes]).reshape(n, N_FIELDS)),
        torch.from_numpy(np.concatenate([e.log_p for e in episodes]).reshape(n)),
        torch.from_numpy(advantages.reshape(n) / (advantages.std() + 1e-8)).float(),
        torch.from_numpy(scores).float(),
    )


def update(policy: Policy, optimizer: torch.optim.Optimizer, batch: Batch, entropy: float) -> None:
    """Take the clipped steps of PPO over a batch."""
    for _ in range(N_EPOCHS):
        for rows in torch.randperm(len(batch.log_p)).split(BATCH):
            log_p, scores = policy(batch.seen[rows])
            chosen = log_p.gather(-1, batch.choices[rows].unsqueeze(-1)).squeeze(-1).sum(-1)
            ratio = (chosen - batch.log_p[rows]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            advantages = batch.advantages[rows]
            gain = torch.min(ratio * advantages, clipped * advantages).mean()
            spread = -(log_p.exp() * log_p.clamp(min=-50)).sum((-1, -2)).mean()
            error = (scores - batch.scores[rows]).square().mean()
            loss = -gain - entropy * spread + VALUE_SHARE * error
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), MOST_GRADIENT)
            optimizer.step()


class Progress(NamedTuple):
    """Where a training stands: windows played, seconds, mean score on the validation seeds."""

    n_windows: int
    seconds: float
    score: float


def train(
    task: str, *, n_windows: int, seed: int, n_jobs: int, constant: Settings | None
) -> Iterator[tuple[Policy, Progress]]:
    """Yield the policy and how it does, every VALIDATE_EVERY updates and at the end.

    constant: the settings at which it begins, if any.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    n_updates = max(1, n_windows // (N_EPISODES * N_WINDOWS))
    next_seed = FIRST_SEED + seed * SEEDS_PER_RUN
    began = time.monotonic()
    # Forked: a process that imports torch anew would take longer than what it plays.
    with get_context("fork").Pool(n_jobs) as pool:
        if constant:
            rollouts = pool.map(partial(play, task, policy.export(), HELD), [next_seed])
            begin_at(policy, find_choices(constant), rollouts)
        for done in range(1, n_updates + 1):
            left = 1 - (done - 1) / n_updates
            seeds = range(next_seed, next_seed + N_EPISODES)
            next_seed += N_EPISODES
            episodes = pool.map(partial(play, task, policy.export(), HELD * left), seeds)
            for group in optimizer.param_groups:
                group["lr"] = RATE * max(left, 0.05)
            update(policy, optimizer, collect(episodes), ENTROPY * left)
            if done % VALIDATE_EVERY == 0 or done == n_updates:
                decide = Network(policy.export()).decide
                scores = pool.map(partial(score_episode, task, decide), VALIDATION)
                spent_s = time.monotonic() - began
                yield policy, Progress(done * N_EPISODES * N_WINDOWS, spent_s, mean(scores))


def train_task(task: str, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Train on a task, print how it goes, and keep its weights."""
    rules = mean(score_episode(task, decide_by_rules, seed) for seed in VALIDATION)
    say(f"{task}: the rules score {rules:.4f} on {len(VALIDATION)} validation seeds")
    options.out.mkdir(parents=True, exist_ok=True)
    constant = read_tuned()[task][0].settings if options.from_fixed else None
    passed_s: float | None = None
    for policy, now in train(
        task, n_windows=options.steps, seed=options.seed, n_jobs=options.jobs, constant=constant
    ):
        # Each time: what is interrupted leaves the last ones.
        save_file(policy.state_dict(), options.out / f"{task}.safetensors")
        if passed_s is None and now.score > rules:
            passed_s = now.seconds
            say(f"{task}: above the rules after {passed_s:.0f} s")
        say(f"{task}: {now.n_windows} windows, {now.seconds:.0f} s: {now.score:.4f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; 2 where an option cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=[*TASKS, "all"], required=True)
    parser.add_argument("--steps", type=int, default=120_000, help="windows to play (120000)")
    parser.add_argument("--seed", type=int, default=0, help="0 and above")
    parser.add_argument(
        "--from-fixed", action="store_true", help="begin at the best constant of tune.py"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that play (2)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "weights")
    options = parser.parse_args(arguments)
    for name, least in (("steps", N_EPISODES * N_WINDOWS), ("seed", 0), ("jobs", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be {least} or more: {getattr(options, name)}")
    for task in TASKS if options.task == "all" else [options.task]:
        train_task(task, options, lambda text: print(text, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
