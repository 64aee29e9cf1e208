"""Returns travel with a result, and one whose ranks do not follow from them is refused."""

import msgspec
import pytest
from redis import Redis

from matches.api.matches import OutcomeSerializer
from matches.ledger import recording
from matches.models import Match, Outcome
from matches.ratings import rater
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("returns", "kept"),
    [([1.0, -1.0], "1.0,-1.0"), ([0.1, 0.0], "0.1,0.0"), ([], "")],
)
def test_an_outcome_has_the_returns_of_its_episode(
    broker: Redis, returns: list[float], kept: str
) -> None:
    make.planned(2)
    make.play_all(
        broker, lambda row: msgspec.structs.replace(make.first_wins(row), returns=returns)
    )
    assert set(Outcome.objects.values_list("returns", flat=True)) == {kept}


def test_a_match_with_returns_is_rated_by_its_ranks(broker: Redis) -> None:
    tournament = make.planned(4)
    make.play_all(
        broker, lambda row: msgspec.structs.replace(make.first_wins(row), returns=[1.0, -1.0])
    )
    rater.rate_all(now=make.NOW)
    tournament.leaderboard.refresh_from_db()
    assert tournament.leaderboard.n_settled == 4


@pytest.mark.parametrize("returns", [[-1.0, 1.0], [1.0], [1.0, float("inf")], [0.0, 0.0]])
def test_returns_that_do_not_give_the_ranks_are_refused(
    broker: Redis, returns: list[float]
) -> None:
    order = make.ordered(make.planned(2))
    make.start(order)
    rows = [msgspec.structs.replace(make.first_wins(row), returns=returns) for row in order.matches]
    recorded = recording.record_report(make.reported(order, rows), now=make.NOW)
    assert (recorded.n_closed, recorded.n_refused) == (0, 2)
    assert not Match.objects.filter(state=Match.State.DONE).exists()


def test_an_episode_of_one_seat_must_have_its_score(broker: Redis) -> None:
    order = make.ordered(make.planned(3, game="dice_walk"))
    make.start(order)
    rows = [make.result(row, ranks=[0]) for row in order.matches]
    recorded = recording.record_report(make.reported(order, rows), now=make.NOW)
    assert (recorded.n_closed, recorded.n_refused) == (0, 3)


@pytest.mark.parametrize(("kept", "returns"), [("0.1,0.0", [0.1, 0.0]), ("", None)])
def test_the_api_shows_the_returns(kept: str, returns: list[float] | None) -> None:
    assert OutcomeSerializer(Outcome(ranks="0,1", returns=kept)).data["returns"] == returns
