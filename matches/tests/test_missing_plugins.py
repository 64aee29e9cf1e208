"""One plug-in that is missing, broken or without a seat: everything else goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.test import Client
from redis import Redis

from arena import catalogs
from matches import control
from matches.board import broadcast
from matches.errors import BadInputError
from matches.ledger import recording
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Match, Tournament
from matches.models.validation import check_game, check_policy
from matches.operations import explain
from matches.plans import TournamentPlan
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from matches.tests.plugin_folder import PluginFolder, plugin_folder

pytestmark = pytest.mark.django_db
AGENTS = ("centre", "random")

Lose = Callable[[PluginFolder, pytest.MonkeyPatch], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as made:
        yield made


def named_in_another_terminal_only(_: PluginFolder, patch: pytest.MonkeyPatch) -> None:
    patch.setenv(catalogs.PLUGINS, "")


def moved_away(folder: PluginFolder, _: pytest.MonkeyPatch) -> None:
    folder.root.rename(folder.root.with_name("elsewhere"))


def with_import_errors(folder: PluginFolder, _: pytest.MonkeyPatch) -> None:
    folder.edit(folder.game, "import numpy", "import nunpy")
    folder.edit(folder.policy, "class CentreKind", "class CentreKind(NoSuchName)")


def without_a_seat(folder: PluginFolder, _: pytest.MonkeyPatch) -> None:
    folder.edit(folder.game, "n_seats=2", "n_seats=0")


LOSSES = (named_in_another_terminal_only, moved_away, with_import_errors, without_a_seat)


@pytest.fixture
def under_way(folder: PluginFolder, broker: Redis) -> Tournament:
    """Return a tournament of the plug-ins, partly played and rated."""
    tournament = factories.planned(40, agents=AGENTS, game="nim", board="lost")
    boards.play_some(tournament, 20, factories.first_wins)
    rater.rate(tournament.leaderboard_id, now=later(1))
    boards.play_some(tournament, 10, factories.first_wins, now=later(1))
    factories.scheduled(10, agents=AGENTS, game="nim", board="new")
    return tournament


@pytest.fixture(params=LOSSES, ids=lambda lose: lose.__name__)
def lost(
    request: pytest.FixtureRequest,
    under_way: Tournament,
    folder: PluginFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> Tournament:
    """Return a tournament that was under way when its plug-in was lost, in each way."""
    request.param(folder, monkeypatch)
    folder.restart()
    return under_way


@pytest.fixture
def gone(
    under_way: Tournament, folder: PluginFolder, monkeypatch: pytest.MonkeyPatch
) -> Tournament:
    """Return a tournament whose plug-ins are gone; the newest board is of them, too."""
    moved_away(folder, monkeypatch)
    folder.restart()
    return under_way


def test_the_duties_of_control_go_on_for_everybody_else(lost: Tournament, broker: Redis) -> None:
    healthy = factories.scheduled(20, board="healthy")
    for turn in range(2, 9, 2):
        factories.alive(now=later(turn))
        control.do_duties(now=later(turn))
        for order in factories.popped(broker):
            factories.start(order, now=later(turn))
            recording.record_report(factories.finished(order), now=later(turn))
    control.do_duties(now=later(20))
    healthy.refresh_from_db()
    assert healthy.state == Tournament.State.DONE
    assert Leaderboard.objects.get(name="healthy").n_settled == 20
    lost.refresh_from_db()
    assert lost.state == Tournament.State.RUNNING
    assert lost.problem.startswith("held back, game: ")
    waits_for = explain.of_tournament(lost, now=later(20)).waits_for
    assert "nim" in waits_for[0]


def test_what_was_held_back_goes_on_when_the_plugin_is_back(
    folder: PluginFolder, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = factories.scheduled(10, agents=AGENTS, game="nim")
    monkeypatch.setenv(catalogs.PLUGINS, "")
    folder.restart()
    factories.alive()
    control.do_duties(now=NOW)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.n_planned) == ("scheduled", 0)
    assert "EVALSITE_PLUGINS must name its folder" in tournament.problem
    monkeypatch.setenv(catalogs.PLUGINS, str(folder.root))
    folder.restart()
    control.do_duties(now=later(2))
    control.do_duties(now=later(3))
    tournament.refresh_from_db()
    assert (tournament.n_planned, tournament.problem) == (10, "")
    assert factories.popped(broker)


def test_a_report_that_comes_late_is_refused_and_the_recorder_goes_on(
    under_way: Tournament, folder: PluginFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = factories.ordered(under_way, 5, now=later(2))
    moved_away(folder, monkeypatch)
    folder.restart()
    recorded = recording.record_report(factories.finished(order), now=later(3))
    assert (recorded.n_closed, recorded.n_refused) == (0, 5)


def test_every_page_and_every_list_still_answers(gone: Tournament, client: Client) -> None:
    match = Match.objects.filter(tournament=gone).earliest("pk")
    for address in (
        "/",
        "/leaderboards/",
        "/leaderboards/lost/",
        "/leaderboards/lost/?kind=centre&sort=name",
        f"/tournaments/{gone.pk}/",
        f"/matches/{match.pk}/",
        f"/agents/{match.agent_ids[0]}/",
        "/system/",
        "/health/",
        "/api/v1/leaderboards/",
        "/api/v1/leaderboards/lost/",
        "/api/v1/tournaments/",
        f"/api/v1/tournaments/{gone.pk}/",
        f"/api/v1/tournaments/{gone.pk}/explanation/",
        "/api/v1/agents/",
        f"/api/v1/matches/?tournament={gone.pk}",
        f"/api/v1/matches/{match.pk}/",
        "/api/schema/",
    ):
        assert client.get(address).status_code == 200, address
    page = client.get("/leaderboards/lost/").content.decode()
    assert "Nothing is played or rated here" in page
    broadcast.push_due(now=later(30))


@pytest.mark.parametrize("pairing", ["knockout", "swiss", "groups"])
def test_rounds_of_a_game_that_is_gone_are_still_shown(
    pairing: str,
    folder: PluginFolder,
    broker: Redis,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("third", "fourth")
    others = [Agent.objects.create(name=name, game="nim", policy="random") for name in names]
    rounds = factories.planned(64, agents=[*AGENTS, *others], game="nim", pairing=pairing)
    boards.play_some(rounds, 4, factories.first_wins)
    moved_away(folder, monkeypatch)
    folder.restart()
    page = client.get(f"/tournaments/{rounds.pk}/")
    assert page.status_code == 200
    assert page.context["rounds"].table


def test_every_row_of_the_admin_still_opens(gone: Tournament, admin_client: Client) -> None:
    for model in admin.site._registry:
        meta = model._meta
        assert admin_client.get(f"/admin/{meta.app_label}/{meta.model_name}/").status_code == 200
        row = model._default_manager.first()
        if row is not None:
            address = f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/change/"
            assert admin_client.get(address).status_code == 200, address
    assert admin_client.get("/admin/").status_code == 200


def test_it_is_refused_at_the_door_with_the_reason(lost: Tournament) -> None:
    agents = [entrant.agent for entrant in lost.entrant_set.all()]
    with pytest.raises(BadInputError, match="nim"):
        open_leaderboard("another", game="nim")
    with pytest.raises(BadInputError, match="nim"):
        schedule_tournament(
            TournamentPlan(name="more", n_matches=4), leaderboard=lost.leaderboard, agents=agents
        )


def test_a_broken_file_is_named_on_the_system_page_and_by_readiness(
    folder: PluginFolder, broker: Redis, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_import_errors(folder, monkeypatch)
    for address in ("/system/", "/health/"):
        page = client.get(address).content.decode()
        assert f"…/{folder.game.name}" in page, address
        assert str(folder.game) not in page, address
        assert "nunpy" in page, address


@pytest.mark.parametrize(
    ("line", "field", "why"),
    [
        (
            "        del spec",
            "policy",
            "centre cannot play nim: its refusal() raises OSError: away",
        ),
        ("        accepted(self, game, parameters)", "policy", "centre cannot be built: OSError"),
    ],
)
def test_a_policy_whose_code_raises_is_refused_with_its_reason(
    folder: PluginFolder, client: Client, line: str, field: str, why: str
) -> None:
    folder.edit(folder.policy, line, f"        raise OSError('away')\n{line}")
    with pytest.raises(ValidationError) as refused:
        check_policy("nim", "centre", {})
    assert why in str(refused.value.message_dict[field])
    # Others can still be looked up.
    assert client.get("/games/nim/").status_code == 200


def test_a_game_that_cannot_be_configured_is_refused_with_its_reason(folder: PluginFolder) -> None:
    start = "    def configured(self"
    broken = folder.game.read_text().partition(start)[2].partition("\n")[0]
    folder.edit(folder.game, f"{start}{broken}", f"{start}{broken}\n        raise OSError('away')")
    with pytest.raises(ValidationError, match="nim cannot be configured: OSError: away"):
        check_game("nim", {})
