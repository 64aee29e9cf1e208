"""A game that cannot be played again from its seed and actions: nothing of it is known before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from redis import Redis

from matches.errors import BadInputError
from matches.ledger import planning
from matches.ledger.generation import Generation, Side, start_generation
from matches.ledger.tournaments import schedule_tournament
from matches.models import Match, Tournament
from matches.plans import TournamentPlan
from matches.tests import boards, factories
from matches.tests.plugin_folder import PluginFolder, plugin_folder

pytestmark = pytest.mark.django_db
N = 8


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as made:
        made.edit(made.game, "opening_plies=2", "opening_plies=0, is_replayable=False")
        yield made


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def played(first: Tournament | None = None) -> Tournament:
    """Return a tournament that is over, the same as the first one if that is given."""
    if first is None:
        tournament = factories.planned(N, agents=("centre", "random"), game="nim", seed=5)
    else:
        plan = TournamentPlan(name="again", n_matches=N, seed=5)
        agents = list(first.agents.order_by("entrant__position"))
        tournament = schedule_tournament(plan, leaderboard=first.leaderboard, agents=agents)
        planning.plan_tournament(tournament, now=factories.later(10))
        tournament.refresh_from_db()
    if tournament.state != Tournament.State.DONE:
        boards.play_some(tournament, N, factories.first_wins, now=factories.NOW)
        tournament.refresh_from_db()
    return tournament


def test_the_same_tournament_again_is_played() -> None:
    first = played()
    second = played(first)
    assert (first.n_done, first.n_known) == (second.n_done, second.n_known) == (N, 0)
    assert not Match.objects.exclude(same_as=None).exists()


def test_nodes_are_told_to_start_an_interrupted_match_again(folder: PluginFolder) -> None:
    tournament = factories.planned(N, agents=("centre", "random"), game="nim")
    order = factories.ordered(tournament, 2)
    assert (order.is_replayable, order.opening_plies) == (False, 0)
    folder.edit(folder.game, "is_replayable=False", "is_replayable=True")
    assert factories.ordered(tournament, 2).is_replayable


def test_its_page_lists_the_moves_without_a_replay(client: Client) -> None:
    match = Match.objects.filter(tournament=played()).earliest("pk")
    page = client.get(f"/matches/{match.pk}/").content.decode()
    assert "this game cannot be played again from its seed and moves, which were: 10, 50." in page
    assert client.get(f"/matches/{match.pk}/frames/").json()["frames"] == []


def test_no_trajectories_are_generated_of_it() -> None:
    plan = TournamentPlan(name="run", n_matches=N, key="a-key", is_rated=False)
    generation = Generation([Side("centre")], plan, game="nim")
    with pytest.raises(BadInputError, match="nim cannot be replayed"):
        start_generation(generation)
