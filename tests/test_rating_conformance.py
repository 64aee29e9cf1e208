"""Every rating system passes every check; a broken one fails the check of its mistake."""

from collections.abc import Callable, Sequence

import pytest

from arena.ratings import registry, trueskill
from arena.ratings.base import MU, Rating, RatingSystem, Result
from tests import rating_checks as checks
from tests.catalogs import assert_named, each, each_check

Rate = Callable[[int, Sequence[Result]], list[Rating]]


@each_check(checks.CHECKS)
@each(registry.names())
def test_the_rating_system_keeps_to(name: str, check: Callable[[RatingSystem], None]) -> None:
    check(registry.get(name))


@each(registry.names())
def test_the_id_is_the_name_of_the_file(name: str) -> None:
    assert_named(registry.get(name), name)


class Broken:
    """The closed form with something done to it."""

    id = title = "broken"

    def __init__(self, rate: Rate) -> None:
        self.rate = rate


def _right(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return trueskill.SYSTEM.rate(n_agents, results)


def _forgets_the_last(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return _right(n_agents, results[:-1])


def _leaves_one_out(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return _right(n_agents, results)[1:]


def _favours_the_first_seat(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    ratings = _right(n_agents, results)
    for result in results:
        mu, sigma = ratings[result.lineup[0]]
        ratings[result.lineup[0]] = Rating(mu + 0.01, sigma)
    return ratings


def _stretches_the_top(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return [Rating(max(mu, 2 * mu - MU), sigma) for mu, sigma in _right(n_agents, results)]


def _favours_the_first_agent(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    ratings = _right(n_agents, results)
    return [
        Rating(rating.mu + (i == 0 < len(results)), rating.sigma)
        for i, rating in enumerate(ratings)
    ]


def _never_learns(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return [Rating(mu, 1.0) for mu, _ in _right(n_agents, results)]


def _turns_the_order_round(n_agents: int, results: Sequence[Result]) -> list[Rating]:
    return [Rating(2 * MU - mu, sigma) for mu, sigma in _right(n_agents, results)]


@pytest.mark.parametrize(
    ("rate", "check"),
    [
        (_leaves_one_out, checks.it_rates_every_agent_of_the_field),
        (_forgets_the_last, checks.a_better_result_gives_a_higher_rating),
        (_stretches_the_top, checks.turned_results_give_turned_ratings),
        (_favours_the_first_seat, checks.the_order_of_the_players_does_not_matter),
        (_favours_the_first_agent, checks.the_names_of_the_agents_do_not_matter),
        (_never_learns, checks.results_remove_doubt),
        (_turns_the_order_round, checks.the_stronger_agents_end_up_above),
    ],
)
def test_a_broken_system_fails(rate: Rate, check: Callable[[RatingSystem], None]) -> None:
    check(Broken(_right))
    with pytest.raises(AssertionError):
        check(Broken(rate))


def test_every_check_has_its_broken_system() -> None:
    assert len(checks.CHECKS) == len(set(checks.CHECKS)) == 7
