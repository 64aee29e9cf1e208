"""What every rating system must keep to; each check raises AssertionError where it does not."""

from collections.abc import Callable
from random import Random

from arena.ratings.base import MU, Rating, RatingSystem, Result

N_AGENTS = 6
TOLERANCE = 1e-6


def results(seed: int, n_results: int = 40) -> list[Result]:
    """Return results of couples in which agents of a higher index are the stronger."""
    rng = Random(seed)
    drawn = []
    for _ in range(n_results):
        first, second = rng.sample(range(N_AGENTS), 2)
        lead = first - second + rng.gauss(0, 3)
        ranks = (0, 0) if abs(lead) < 0.5 else (int(lead < 0), int(lead > 0))
        drawn.append(Result((first, second), ranks))
    return drawn


def near(some: list[Rating], others: list[Rating]) -> bool:
    pairs = zip(some, others, strict=True)
    return all(abs(a - b) < TOLERANCE for one, two in pairs for a, b in zip(one, two, strict=True))


def it_rates_every_agent_of_the_field(system: RatingSystem) -> None:
    for n_agents in (0, 1, 5):
        ratings = system.rate(n_agents, [])
        assert len(ratings) == n_agents
        assert all(rating.mu == MU and rating.sigma > 0 for rating in ratings)


def a_better_result_gives_a_higher_rating(system: RatingSystem) -> None:
    for seed in range(8):
        *before, last = results(seed)
        mus = [
            system.rate(N_AGENTS, [*before, Result(last.lineup, ranks)])
            for ranks in ((1, 0), (0, 0), (0, 1))
        ]
        first, second = last.lineup
        assert mus[0][first].mu < mus[1][first].mu < mus[2][first].mu
        assert mus[0][second].mu > mus[1][second].mu > mus[2][second].mu


def turned_results_give_turned_ratings(system: RatingSystem) -> None:
    for seed in range(4):
        here = system.rate(N_AGENTS, results(seed))
        turned = [Result(r.lineup, r.ranks[::-1]) for r in results(seed)]
        there = system.rate(N_AGENTS, turned)
        assert near(there, [Rating(2 * MU - mu, sigma) for mu, sigma in here])


def the_order_of_the_players_does_not_matter(system: RatingSystem) -> None:
    for seed in range(4):
        swapped = [Result(r.lineup[::-1], r.ranks[::-1]) for r in results(seed)]
        assert near(system.rate(N_AGENTS, swapped), system.rate(N_AGENTS, results(seed)))


def the_names_of_the_agents_do_not_matter(system: RatingSystem) -> None:
    names = [4, 2, 5, 0, 3, 1]
    renamed = [Result(tuple(names[a] for a in r.lineup), r.ranks) for r in results(1)]
    here, there = system.rate(N_AGENTS, results(1)), system.rate(N_AGENTS, renamed)
    assert near([there[name] for name in names], here)


def results_remove_doubt(system: RatingSystem) -> None:
    few, many = (system.rate(N_AGENTS, results(2, n)) for n in (20, 200))
    assert all(0 < after.sigma < before.sigma for before, after in zip(few, many, strict=True))


def the_stronger_agents_end_up_above(system: RatingSystem) -> None:
    mus = [rating.mu for rating in system.rate(N_AGENTS, results(3, 600))]
    assert mus == sorted(mus)


CHECKS: list[Callable[[RatingSystem], None]] = [
    it_rates_every_agent_of_the_field,
    a_better_result_gives_a_higher_rating,
    turned_results_give_turned_ratings,
    the_order_of_the_players_does_not_matter,
    the_names_of_the_agents_do_not_matter,
    results_remove_doubt,
    the_stronger_agents_end_up_above,
]
