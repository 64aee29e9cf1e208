"""How many episodes it takes to be sure who scores best, and how often that is wrong.

./run bench scores [--json FILE] [--campaigns N] [--real N]
"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

import arena
from arena.games import registry
from arena.games.base import OVER
from arena.local_play import PlayedMatch
from arena.ratings.counts import Floats
from arena.seeding import derive
from arena.verdicts.base import Terms
from arena.verdicts.paired_scores import BEST, judge, weigh_evidence
from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report

N_AGENTS, BLOCK, MOST_SEEDS = 5, 5, 4_000
ERRORS = (0.05, 0.01)
# So far apart that the last two of five are told apart in some hundred episodes.
STEP = 0.12
MAX_RATIO = 0.5
GAME = "cart_pole"
SHARES = (0.1, 0.3, 0.45, 0.6, 0.8)
"""How often each of five agents on CartPole plays at random."""

Draw = Callable[[np.random.Generator, Floats], Floats]


def draw_bernoulli(rng: np.random.Generator, means: Floats) -> Floats:
    """Return 0 or 1."""
    return (rng.random(means.shape) < means).astype(float)


def draw_clipped(rng: np.random.Generator, means: Floats) -> Floats:
    """Return a normal score, cut at 0 and 1, half of its variance from the seed that all share."""
    shared = rng.normal(0, 0.15, means.shape[-1])
    return np.asarray(np.clip(means + shared + rng.normal(0, 0.15, means.shape), 0, 1))


def draw_capped(rng: np.random.Generator, means: Floats) -> Floats:
    """Return lengths until something fails, cut at 1: skewed, as CartPole's are."""
    return np.asarray(np.minimum(rng.exponential(means), 1))


def draw_bimodal(rng: np.random.Generator, means: Floats) -> Floats:
    """Return about 0.1 or about 0.9: a goal is reached, or not."""
    near = np.where(rng.random(means.shape) < (means - 0.1) / 0.8, 0.9, 0.1)
    return np.asarray(near + rng.uniform(-0.1, 0.1, means.shape))


DISTRIBUTIONS: dict[str, Draw] = {
    "bernoulli": draw_bernoulli,
    "clipped": draw_clipped,
    "capped": draw_capped,
    "bimodal": draw_bimodal,
}


class Campaign(NamedTuple):
    """How one ended: episodes played, those that equal sampling would have, who was named."""

    n_episodes: int
    n_equal: int
    best: int
    is_decided: bool


def run_campaign(play: Callable[[int, int], Floats], *, error: float, span: float) -> Campaign:
    """Ask who is best of five; play: returns the scores of an agent from a seed on, BLOCK of them.

    Only those whose next seeds could change the answer go on. Equal sampling stops by the same
    rule on the same scores, all agents playing.
    """
    scores = np.full((N_AGENTS, 0), np.nan)
    playing: Sequence[int] = range(N_AGENTS)
    while playing and scores.shape[1] < MOST_SEEDS:
        fresh = np.full((N_AGENTS, BLOCK), np.nan)
        for agent in playing:
            fresh[agent] = play(agent, scores.shape[1])
        scores = np.concatenate((scores, fresh), axis=1)
        judged = judge(scores, BEST, Terms(error), span=span)
        playing = judged.playing
    n_episodes = int(np.isfinite(scores).sum())
    # The last two decide in either case: all the others would only have gone on beside them.
    return Campaign(n_episodes, N_AGENTS * scores.shape[1], judged.subjects[0], not playing)


def simulate_campaign(draw: Draw, error: float, seed: int) -> Campaign:
    rng = np.random.default_rng(derive("scores", seed))
    means = 0.85 - STEP * np.arange(N_AGENTS)
    table = draw(rng, np.repeat(means[:, None], MOST_SEEDS, axis=1))
    return run_campaign(
        lambda agent, start: table[agent, start : start + BLOCK], error=error, span=1.0
    )


def count_wrong(draw: Draw, error: float, n: int, seed: int) -> int:
    """Return how often peeking after each of 2,000 seeds names the worse of two close agents."""
    rng = np.random.default_rng(derive("wrong", seed))
    n_wrong = 0
    for _ in range(n):
        better, worse = draw(rng, np.repeat([[0.501], [0.5]], 2_000, axis=1))
        evidence = weigh_evidence(worse - better, bound=0.0, span=1.0)
        n_wrong += bool(evidence.max() >= -np.log(error))
    return n_wrong


def find_upper(n_wrong: int, n: int) -> float:
    """Return the upper 95 % bound of a rate by Clopper and Pearson."""
    return float(beta.ppf(0.975, n_wrong + 1, n - n_wrong)) if n_wrong < n else 1.0


def measure_distribution(name: str, n: int, seed: int) -> dict[str, Cell]:
    """Return the figures of one distribution."""
    draw = DISTRIBUTIONS[name]
    ended = [simulate_campaign(draw, ERRORS[0], seed + number) for number in range(n)]
    row = summarise(name, ended)
    for error in ERRORS:
        n_wrong = count_wrong(draw, error, n, seed)
        row[f"wrong_{error:.0%}"] = n_wrong / n
        row[f"upper_{error:.0%}"] = find_upper(n_wrong, n)
    return row


def summarise(name: str, ended: Sequence[Campaign]) -> dict[str, Cell]:
    return {
        "world": name,
        "campaigns": len(ended),
        "right": sum(one.best == 0 and one.is_decided for one in ended) / len(ended),
        "episodes": median(one.n_episodes for one in ended),
        "equal": median(one.n_equal for one in ended),
        "ratio": median(one.n_episodes / one.n_equal for one in ended),
    }


def balance(share: float, observation: Floats, mask: object, rng: object) -> int:
    """Push under the pole, and so often at random."""
    del mask
    random = rng.random  # type: ignore[attr-defined]
    if random() < share:
        return int(random() * 2)
    return int(observation[2] + observation[3] / 2 > 0)


def play_cart_pole(seed: int) -> tuple[Campaign, bool]:
    """Play a campaign of five agents on CartPole; also say whether a plain loop scores the same."""
    matches: list[PlayedMatch] = []

    def play(agent: int, start: int) -> Floats:
        act = partial(balance, SHARES[agent])
        # One call per block: its game seeds follow from seed and start alone.
        played = arena.play(GAME, {f"agent-{agent}": act}, BLOCK, derive("real", seed, start))
        matches.extend(played)
        return np.array([match.returns[0] for match in played])

    ended = run_campaign(play, error=ERRORS[0], span=500.0)
    return ended, all(replay_plainly(match) == match.returns[0] for match in matches[::50])


def replay_plainly(match: PlayedMatch) -> float:
    """Return the sum of rewards of the same actions in Gymnasium's own loop."""
    state = registry.get(GAME).start(match.game_seed, opening_plies=0)
    env, total = state.env, 0.0  # type: ignore[attr-defined]
    assert state.to_move() != OVER
    for action in match.actions:
        _, reward, *_ = env.step(action)
        total += float(reward)
    return total


def measure_real(n: int, seed: int) -> dict[str, Cell]:
    played = [play_cart_pole(seed + number) for number in range(n)]
    row = summarise("CartPole, played", [ended for ended, _ in played])
    row["as_plain_loop"] = float(all(is_same for _, is_same in played))
    return row


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 1 where a target is missed."""
    parser = make_parser("scores", "Who scores best: episodes against equal sampling, and errors.")
    parser.add_argument("--campaigns", type=whole_number(1), default=200, help="of each world")
    parser.add_argument("--real", type=whole_number(0), default=5, help="campaigns on CartPole")
    parser.add_argument("--seed", type=whole_number(0), default=1)
    options = parser.parse_args(arguments)
    rows = [measure_distribution(name, options.campaigns, options.seed) for name in DISTRIBUTIONS]
    rows += [measure_real(options.real, options.seed)] if options.real else []
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = format_table(names, [[row.get(name) for name in names] for row in rows])
    is_met = all(float(row["ratio"] or 1) <= MAX_RATIO for row in rows)
    said = f"episodes at most {MAX_RATIO} of equal sampling: {'met' if is_met else 'MISSED'}"
    write_report(f"{table}\n\n{said}", {"rows": rows}, options.json)
    return int(not is_met)
