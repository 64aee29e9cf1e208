"""No list of the API grows with the matches there are: a page costs what it shows.

The steps of SQLite's virtual machine are counted, as for control and recorder in test_indexes.
"""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from redis import Redis

from matches.models import Attempt, Match, Outcome, Tournament
from matches.tests import factories as make
from matches.tests.database_steps import count_steps

pytestmark = pytest.mark.django_db
N_FEW, N_MANY = 600, 6_000
PAGE = "page_size=50"


def _played(n_matches: int) -> Tournament:
    """Return a tournament of which two thirds are done, a few void, and the rest pending."""
    tournament = make.planned(n_matches, board=f"board-{n_matches}", seed=n_matches)
    matches = Match.objects.filter(tournament=tournament)
    first = matches.earliest("sequence").pk
    matches.filter(pk__lt=first + n_matches * 2 // 3).update(state=Match.State.DONE)
    matches.filter(pk__in=[first + 10, first + 20]).update(state=Match.State.VOID)
    done = list(matches.filter(state=Match.State.DONE).values_list("pk", flat=True))
    Outcome.objects.bulk_create(
        Outcome(match_id=pk, ranks="0,1", attempt=1, recorded_at=make.NOW) for pk in done
    )
    Attempt.objects.bulk_create(
        Attempt(match_id=pk, number=1, ending=_ending(n), ended_at=make.NOW)
        for n, pk in enumerate(done)
    )
    return tournament


def _ending(number: int) -> str:
    return Attempt.Ending.FAILED if number < 100 else Attempt.Ending.DONE


def _lists(client: Client, tournament: Tournament) -> dict[str, Callable[[], object]]:
    """Return every list of matches and what belongs to them."""
    agent, number = tournament.agents.earliest("pk").pk, tournament.pk
    addresses = [
        f"matches/?tournament={number}",
        f"matches/?leaderboard={tournament.leaderboard.name}",
        f"matches/?agent={agent}",
        f"matches/?agent={agent}&tournament={number}",
        f"outcomes/?tournament={number}",
        "attempts/?",
        "attempts/?ending=failed",
        "attempts/?ending=done",
        f"attempts/?ending=failed&tournament={number}",
        *(f"matches/?tournament={number}&state={state}" for state in Match.State.values),
        f"tournaments/{number}/?",
        f"tournaments/{number}/agents/?",
        f"leaderboards/{tournament.leaderboard.name}/ratings/?",
    ]
    names = [address.replace(str(number), "N").partition("board-")[0] for address in addresses]
    works = [partial(_fetch, client, f"/api/v1/{address}&{PAGE}") for address in addresses]
    return dict(zip(names, works, strict=True))


def _fetch(client: Client, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 200, address


def test_no_list_grows_with_the_matches(client: Client, broker: Redis) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    lists = [_lists(client, _played(n_matches)) for n_matches in (N_FEW, N_MANY)]
    few, many = ([count_steps(work) for work in works.values()] for works in lists)
    grown = {
        name: (a, b) for name, a, b in zip(lists[1], few, many, strict=True) if b > 1.3 * a + 20
    }
    assert grown == {}
