"""What both ratings keep to, the live and the settled one; a broken one fails its check."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from arena.ratings.base import MU, SIGMA
from arena.ratings.live import fold_matches, fold_ranked
from arena.ratings.settled import count_results, settle_ratings

N_AGENTS = 6
TOLERANCE = 1e-6

Match = tuple[tuple[int, int], tuple[int, int]]
"""Agents and ranks by seat."""
Rating = tuple[float, float]
"""mu and sigma."""
Rate = Callable[[int, Sequence[Match]], list[Rating]]


def rate_live(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    mus, sigmas = [MU] * n_agents, [SIGMA] * n_agents
    fold_matches(mus, sigmas, matches)
    return list(zip(mus, sigmas, strict=True))


def rate_ranked(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    mus, sigmas = [MU] * n_agents, [SIGMA] * n_agents
    for match in matches:
        fold_ranked(mus, sigmas, match)
    return list(zip(mus, sigmas, strict=True))


def rate_settled(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    counts = count_results((*lineup, ranks[1] - ranks[0]) for lineup, ranks in matches)
    settled = settle_ratings(counts, n_agents)
    return list(zip(settled.mu.tolist(), settled.sd.tolist(), strict=True))


def play(seed: int, n_matches: int = 40) -> list[Match]:
    """Return matches of couples in which agents of a higher index are the stronger."""
    rng = Random(seed)
    matches: list[Match] = []
    for _ in range(n_matches):
        first, second = rng.sample(range(N_AGENTS), 2)
        lead = first - second + rng.gauss(0, 3)
        ranks = (0, 0) if abs(lead) < 0.5 else (int(lead < 0), int(lead > 0))
        matches.append(((first, second), ranks))
    return matches


def assert_near(some: list[Rating], others: list[Rating]) -> None:
    for one, other in zip(some, others, strict=True):
        assert one == pytest.approx(other, abs=TOLERANCE)


def it_rates_every_agent_of_the_field(rate: Rate) -> None:
    for n_agents in (0, 1, 5):
        ratings = rate(n_agents, [])
        assert len(ratings) == n_agents
        assert all(mu == MU and sigma > 0 for mu, sigma in ratings)


def a_better_result_gives_a_higher_rating(rate: Rate) -> None:
    for seed in range(8):
        *before, (lineup, _) = play(seed)
        outcomes: list[tuple[int, int]] = [(1, 0), (0, 0), (0, 1)]
        lost, drew, won = (rate(N_AGENTS, [*before, (lineup, ranks)]) for ranks in outcomes)
        first, second = lineup
        assert lost[first][0] < drew[first][0] < won[first][0]
        assert lost[second][0] > drew[second][0] > won[second][0]


def turned_results_give_turned_ratings(rate: Rate) -> None:
    for seed in range(4):
        turned = [(lineup, (other, rank)) for lineup, (rank, other) in play(seed)]
        mirrored = [(2 * MU - mu, sigma) for mu, sigma in rate(N_AGENTS, play(seed))]
        assert_near(rate(N_AGENTS, turned), mirrored)


def the_order_of_the_players_does_not_matter(rate: Rate) -> None:
    for seed in range(4):
        swapped = [((b, a), (other, rank)) for (a, b), (rank, other) in play(seed)]
        assert_near(rate(N_AGENTS, swapped), rate(N_AGENTS, play(seed)))


def the_names_of_the_agents_do_not_matter(rate: Rate) -> None:
    names = [4, 2, 5, 0, 3, 1]
    renamed = [((names[a], names[b]), ranks) for (a, b), ranks in play(1)]
    there = rate(N_AGENTS, renamed)
    assert_near([there[name] for name in names], rate(N_AGENTS, play(1)))


def results_remove_doubt(rate: Rate) -> None:
    few, many = (rate(N_AGENTS, play(2, n)) for n in (20, 200))
    assert all(0 < after < before for (_, before), (_, after) in zip(few, many, strict=True))


def the_stronger_agents_end_up_above(rate: Rate) -> None:
    mus = [mu for mu, _ in rate(N_AGENTS, play(3, 600))]
    assert mus == sorted(mus)


CHECKS: list[Callable[[Rate], None]] = [
    it_rates_every_agent_of_the_field,
    a_better_result_gives_a_higher_rating,
    turned_results_give_turned_ratings,
    the_order_of_the_players_does_not_matter,
    the_names_of_the_agents_do_not_matter,
    results_remove_doubt,
    the_stronger_agents_end_up_above,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("rate", [rate_live, rate_ranked, rate_settled])
def test_the_rating_keeps_to(rate: Rate, check: Callable[[Rate], None]) -> None:
    check(rate)


def forget_the_last(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    return rate_live(n_agents, matches[:-1])


def leave_one_out(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    return rate_live(n_agents, matches)[1:]


def favour_the_first_seat(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    ratings = rate_live(n_agents, matches)
    for (first, _), _ranks in matches:
        ratings[first] = ratings[first][0] + 0.01, ratings[first][1]
    return ratings


def stretch_the_top(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    return [(max(mu, 2 * mu - MU), sigma) for mu, sigma in rate_live(n_agents, matches)]


def favour_the_first_agent(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    ratings = rate_live(n_agents, matches)
    return [(mu + (i == 0 < len(matches)), sigma) for i, (mu, sigma) in enumerate(ratings)]


def never_learn(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    return [(mu, 1.0) for mu, _ in rate_live(n_agents, matches)]


def turn_the_order_round(n_agents: int, matches: Sequence[Match]) -> list[Rating]:
    return [(2 * MU - mu, sigma) for mu, sigma in rate_live(n_agents, matches)]


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (leave_one_out, it_rates_every_agent_of_the_field),
        (forget_the_last, a_better_result_gives_a_higher_rating),
        (stretch_the_top, turned_results_give_turned_ratings),
        (favour_the_first_seat, the_order_of_the_players_does_not_matter),
        (favour_the_first_agent, the_names_of_the_agents_do_not_matter),
        (never_learn, results_remove_doubt),
        (turn_the_order_round, the_stronger_agents_end_up_above),
    ],
)
def test_a_broken_rating_fails(broken: Rate, check: Callable[[Rate], None]) -> None:
    with pytest.raises(AssertionError):
        check(broken)
