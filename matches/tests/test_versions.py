"""An edited plug-in is another agent or game: what is known of the old code stays its own."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from redis import Redis

from arena.policies import registry as policies
from matches import control
from matches.artifacts.agents import register_agent, register_spelled_agent
from matches.errors import BadInputError
from matches.ledger import code_versions, planning, reuse
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Match, Tournament
from matches.models.versions import version_of_agent
from matches.operations import explain
from matches.plans import TournamentPlan
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from matches.tests.plugin_folder import PluginFolder, plugin_folder

pytestmark = pytest.mark.django_db
AGENTS = ("centre", "random")
N = 20
MIDDLE, FIRST = "actions[len(actions) // 2]", "actions[0]"


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: Redis
) -> Iterator[PluginFolder]:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as made:
        yield made


def played(board: str = "one") -> Tournament:
    tournament = factories.planned(N, agents=AGENTS, game="nim", board=board)
    boards.play_some(tournament, N, factories.first_wins)
    tournament.refresh_from_db()
    return tournament


def again(board: Leaderboard) -> Tournament:
    """Return the same tournament once more, as the command line would start it."""
    agents = [register_spelled_agent(text, game="nim") for text in AGENTS]
    tournament = schedule_tournament(
        TournamentPlan(name="again", n_matches=N), leaderboard=board, agents=agents
    )
    planning.plan_tournament(tournament, now=later(10))
    tournament.refresh_from_db()
    return tournament


def test_of_the_same_code_what_was_played_is_known(folder: PluginFolder) -> None:
    first = played()
    folder.restart()
    assert again(first.leaderboard).n_known == N


def test_an_edited_policy_is_a_new_agent_and_nothing_of_the_old_one_is_known(
    folder: PluginFolder, client: Client
) -> None:
    first = played()
    old = Agent.objects.get(name="centre")
    folder.edit(folder.policy, MIDDLE, FIRST)
    second = again(first.leaderboard)
    assert (second.n_known, second.n_planned) == (0, N)
    new = Agent.objects.get(name="centre")
    old.refresh_from_db()
    assert new.pk != old.pk
    assert (old.newer, old.is_retired, new.is_retired) == (new, True, False)
    assert old.name == f"centre (version 1, {old.version[:12]})"
    assert new.version not in ("", old.version)
    assert gather_all_evidence(first.leaderboard, entrants_of(second)).known.n_matches == 0
    page = client.get(f"/agents/{new.pk}/").content.decode()
    assert new.version in page
    assert f"/agents/{old.pk}/" in page
    assert f"/agents/{new.pk}/" in client.get(f"/agents/{old.pk}/").content.decode()
    detail = client.get(f"/api/v1/agents/{old.pk}/").json()
    assert (detail["version"], detail["newer"]) == (old.version, new.pk)


def test_registering_the_same_code_again_changes_nothing(folder: PluginFolder) -> None:
    first = register_agent("mine", game="nim", policy="centre")
    folder.edit(folder.policy, MIDDLE, FIRST)
    second = register_agent("mine", game="nim", policy="centre")
    assert register_agent("mine", game="nim", policy="centre") == second
    folder.edit(folder.policy, FIRST, MIDDLE)
    third = register_agent("mine", game="nim", policy="centre")
    assert len({first.pk, second.pk, third.pk}) == 3
    assert Agent.objects.filter(game="nim").count() == 3


def test_an_agent_of_old_code_enters_nothing_new(folder: PluginFolder) -> None:
    first = played()
    agents = list(first.agents.order_by("entrant__position"))
    folder.edit(folder.policy, MIDDLE, FIRST)
    with pytest.raises(BadInputError, match=r"centre is of version .* register it again"):
        schedule_tournament(
            TournamentPlan(name="more", n_matches=4), leaderboard=first.leaderboard, agents=agents
        )


def test_what_holds_a_tournament_back_tells_no_reader_where_files_lie(
    folder: PluginFolder,
) -> None:
    tournament = factories.planned(N, agents=AGENTS, game="nim")
    folder.game.write_text("import no_such_package")
    folder.restart()
    assert not code_versions.is_plannable(tournament)
    assert "…/nim.py: ModuleNotFoundError" in tournament.problem
    explained = str(explain.of_tournament(tournament, now=NOW))
    assert "nim.py" in explained
    assert str(folder.root) not in explained


def test_a_tournament_under_way_waits_for_the_code_that_it_began_with(
    folder: PluginFolder, broker: Redis
) -> None:
    tournament = factories.planned(N, agents=AGENTS, game="nim")
    folder.edit(folder.policy, MIDDLE, FIRST)
    factories.alive()
    control.do_duties(now=NOW)
    assert not factories.popped(broker)
    tournament.refresh_from_db()
    assert tournament.problem.startswith("held back, agents: centre is of version ")
    assert "centre is of version" in explain.of_tournament(tournament, now=NOW).waits_for[0]
    folder.edit(folder.policy, FIRST, MIDDLE)
    control.do_duties(now=later(2))
    (order, *_) = factories.popped(broker)
    assert [agent.version for agent in order.agents] == [
        *Agent.objects.order_by("pk").values_list("version", flat=True)
    ]
    assert order.game_version == tournament.leaderboard.game_version
    tournament.refresh_from_db()
    assert tournament.problem == ""


def test_nobody_foresees_the_end_of_what_waits_for_code(
    folder: PluginFolder, broker: Redis
) -> None:
    tournament = factories.planned(N, agents=AGENTS, game="nim")
    Tournament.objects.update(n_done=2, started_at=NOW)
    factories.alive()
    tournament.refresh_from_db()
    assert explain.of_tournament(tournament, now=later(2)).next_at is not None
    folder.edit(folder.policy, MIDDLE, FIRST)
    assert not code_versions.is_plannable(tournament)
    explained = explain.of_tournament(tournament, now=later(2))
    assert (explained.next_at, explained.next.partition(",")[0]) == (None, "once its code is here")


def test_an_edited_game_is_another_one_and_needs_another_leaderboard(
    folder: PluginFolder, client: Client
) -> None:
    first = played()
    folder.edit(folder.game, "HEAP, MOST = 21, 3", "HEAP, MOST = 22, 3")
    with pytest.raises(BadInputError, match=r"leaderboard one is of version .* of nim"):
        again(first.leaderboard)
    board = open_leaderboard("two", game="nim")
    second = again(board)
    assert (second.n_known, reuse.find_twins(second, entrants_of(second))) == (0, [])
    assert gather_all_evidence(board, entrants_of(second)).known.n_matches == 0
    detail = client.get("/api/v1/leaderboards/two/").json()
    assert detail["game_version"] == board.game_version != first.leaderboard.game_version
    assert board.game_version in client.get("/leaderboards/two/").content.decode()


def test_a_plugin_architecture_is_part_of_the_version(folder: PluginFolder) -> None:
    before = version_of_agent("network", "linear")
    assert before.startswith("1+")
    folder.edit(folder.architecture, '"""', '"""Edited. ')
    assert version_of_agent("network", "linear") != before
    assert version_of_agent("network", "mlp") == "1"


def test_of_old_rows_the_version_is_not_known_and_they_mix_with_nothing_new(
    folder: PluginFolder,
) -> None:
    first = played()
    Agent.objects.update(version="")
    Leaderboard.objects.update(game_version="")
    under_way = Tournament.objects.get(pk=first.pk)
    assert code_versions.filter_runnable([under_way]) == [under_way]
    agents = list(first.agents.order_by("entrant__position"))
    with pytest.raises(BadInputError, match="version not known of nim"):
        schedule_tournament(
            TournamentPlan(name="more", n_matches=4),
            leaderboard=under_way.leaderboard,
            agents=agents,
        )
    board = open_leaderboard("two", game="nim")
    with pytest.raises(BadInputError, match="version not known of"):
        schedule_tournament(
            TournamentPlan(name="more", n_matches=4), leaderboard=board, agents=agents
        )
    assert again(board).n_known == 0
    assert set(Agent.objects.filter(is_retired=True).values_list("name", flat=True)) == {
        "centre (version 1, not known)",
    }


def test_a_board_of_before_that_was_never_used_takes_the_rules_that_are_here(
    folder: PluginFolder,
) -> None:
    board = open_leaderboard("unused", game="nim")
    Leaderboard.objects.update(game_version="")
    board.refresh_from_db()
    again(board)
    board.refresh_from_db()
    assert len(board.game_version) == 64


def test_the_migration_notes_what_was_shipped_as_version_1() -> None:
    for kind in ("random", "centre"):
        Agent.objects.create(name=kind, game="connect_four", policy=kind)
    for game in ("connect_four", "nim"):
        Leaderboard.objects.create(name=game, game=game)
    import_module("matches.migrations.0017_code_versions").note_first_versions(apps, None)
    assert dict(Agent.objects.values_list("name", "version")) == {"random": "1", "centre": ""}
    boards_now = dict(Leaderboard.objects.values_list("name", "game_version"))
    assert boards_now == {"connect_four": "1", "nim": ""}


@pytest.mark.parametrize("name", ["alphabeta", "greedy", "level", "mcts", "network", "random"])
def test_what_is_shipped_declares_its_version(name: str) -> None:
    assert type(getattr(policies.get(name), "version", None)) is int


def test_matches_of_old_and_new_code_are_shown_under_their_own_agents(
    folder: PluginFolder, client: Client
) -> None:
    first = played()
    folder.edit(folder.policy, MIDDLE, FIRST)
    again(first.leaderboard)
    page = client.get("/leaderboards/one/").content.decode()
    assert "centre (version 1, " in page
    assert Match.objects.filter(leaderboard=first.leaderboard).count() == 2 * N
