"""The admin: registers agents, schedules tournaments, shows everything, edits no result."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.contenttypes.fields import GenericForeignKey
from django.test import Client
from django.utils.html import escape
from redis import Redis

from matches.admin.matches import NewestTournaments
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Leaderboard, Outcome, Rating, Tournament
from matches.tests import boards, factories
from matches.tests.admin_acts import form_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def form(broker: Redis) -> dict[str, Any]:
    """Return what schedules a tournament when it is posted."""
    board = open_leaderboard("board", game="skill_game")
    agents = [register_spelled_agent(f"level:{level}", game="skill_game") for level in (10, 90)]
    return {
        "leaderboard": board.pk,
        "name": "cup",
        "agents": [agent.pk for agent in agents],
        "pairing": "double_round_robin",
        "n_matches": 20,
        "seed": 1,
        "move_s": 10,
        "match_s": 600,
        "faults": "",
        "is_rated": "on",
    }


def _errors(client: Client, address: str, form: dict[str, Any]) -> str:
    response = client.post(f"/admin/matches/{address}/add/", form)
    assert response.status_code == 200, "a form that is refused is shown again"
    errors = response.context["adminform"].form.errors
    return " ".join(f"{field}: {' '.join(messages)}" for field, messages in errors.items())


def _registered() -> Iterator[str]:
    for model in admin.site._registry:
        yield f"{model._meta.app_label}/{model._meta.model_name}"


def _lookups() -> Iterator[tuple[str, str]]:
    """Yield a list and a lookup of it: each lookup of a field of each kind, years in several."""
    kinds = set[type]()
    for model in admin.site._registry:
        address = f"{model._meta.app_label}/{model._meta.model_name}"
        for field in model._meta.get_fields():
            if type(field) not in kinds and not isinstance(field, GenericForeignKey):
                kinds.add(type(field))
                for lookup in {*field.get_lookups(), "in", "exact", "year__in"}:
                    yield address, f"{field.name}__{lookup}"


def test_every_list_and_form_opens(admin_client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    for name in _registered():
        response = admin_client.get(f"/admin/{name}/")
        assert response.status_code == 200, name
        assert admin_client.get(f"/admin/{name}/add/").status_code in {200, 403}, name
    assert admin_client.get("/admin/").status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        *("matches/campaign/?question__range=best", "matches/match/?state__range=done"),
        *("auth/user/?id__range=1", "auth/group/?name__range=a"),
        *("axes/accesslog/?username__range=a", "axes/accessattempt/?username__range=a"),
        *("auth/user/?id__contained_by=1", "matches/agent/?id__in=99999999999999999999"),
        *("matches/auditrow/?at__year=0", "matches/campaign/?tournament=99999999999999999999"),
        *("auth/user/?username__regex=(", "matches/tournament/?state__iregex=("),
        pytest.param(f"matches/agent/?q={'a' * 50_000}", id="long"),
    ],
)
def test_a_list_refuses_an_address_that_the_database_cannot_answer(
    admin_client: Client, address: str
) -> None:
    assert admin_client.get(f"/admin/{address}").status_code == 400


def test_a_fault_of_a_filter_is_an_error_of_the_server(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(NewestTournaments, "queryset", fail)
    admin_client.raise_request_exception = False
    assert admin_client.get("/admin/matches/match/?tournament=1").status_code == 500


def test_no_list_fails_whatever_its_address_looks_for(admin_client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    admin_client.raise_request_exception = False
    failed = []
    for address, lookup in _lookups():
        for value in ("0", "9" * 30):
            response = admin_client.get(f"/admin/{address}/", {lookup: value})
            if response.status_code not in {200, 302, 400}:
                failed.append(f"{address}/?{lookup}={value}: {response.status_code}")
    assert not failed


def test_the_search_of_the_admin_finds_its_pages(admin_client: Client, broker: Redis) -> None:
    # The second answer is from the cache.
    for _ in range(2):
        page = admin_client.get("/admin/search/?s=user")
        assert page.status_code == 200
        assert "/admin/auth/user/" in page.content.decode()


def test_every_row_opens(admin_client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    for model in admin.site._registry:
        row = model._default_manager.first()
        if row is not None:
            meta = model._meta
            address = f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/change/"
            assert admin_client.get(address).status_code == 200, address


def test_an_agent_is_registered(admin_client: Client) -> None:
    form = {
        "name": "m",
        "game": "connect_four",
        "policy": "mcts",
        "parameters": '{"simulations": 10}',
    }
    assert admin_client.post("/admin/matches/agent/add/", form).status_code == 302
    assert Agent.objects.get().parameters == {"simulations": 10}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": "level"}, "policy: level cannot play connect_four"),
        ({"parameters": '{"depth": 3}'}, "takes simulations"),
        ({"parameters": "{"}, "parameters: Enter a valid JSON."),
        ({"parameters": "[1]"}, "parameters: Write names and values"),
        ({"game": "poker"}, "game: Select a valid choice"),
    ],
)
def test_an_agent_that_cannot_be_is_a_form_error(
    admin_client: Client, change: dict[str, str], words: str
) -> None:
    form = {"name": "m", "game": "connect_four", "policy": "mcts", "parameters": "{}"}
    assert words in _errors(admin_client, "agent", form | change)
    assert not Agent.objects.exists()


def test_what_an_agent_is_does_not_change(admin_client: Client) -> None:
    agent = register_spelled_agent("mcts:5", game="connect_four")
    before = agent.parameters
    form = {"name": "renamed", "policy": "random", "parameters": "{}", "is_retired": "on"}
    admin_client.post(f"/admin/matches/agent/{agent.pk}/change/", form)
    agent.refresh_from_db()
    assert (agent.name, agent.is_retired) == ("renamed", False)
    assert (agent.policy, agent.parameters) == ("mcts", before)


def test_a_leaderboard_is_opened_and_only_its_title_changes(admin_client: Client) -> None:
    form = {
        "name": "hex",
        "title": "Hex",
        "game": "hex",
        "game_parameters": "{}",
        "draw_probability": "0.1",
    }
    admin_client.post("/admin/matches/leaderboard/add/", form)
    board = Leaderboard.objects.get()
    address = f"/admin/matches/leaderboard/{board.pk}/change/"
    admin_client.post(address, {"title": "New", "game": "chess", "name": "chess"})
    board.refresh_from_db()
    assert (board.title, board.game, board.name) == ("New", "hex", "hex")


def test_adding_a_tournament_schedules_it(admin_client: Client, form: dict[str, Any]) -> None:
    response = admin_client.post("/admin/matches/tournament/add/", form)
    assert response.status_code == 302
    tournament = Tournament.objects.get()
    assert (tournament.state, tournament.agents.count()) == ("scheduled", 2)
    assert Rating.objects.count() == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"agents": []}, "agents: This field is required"),
        ({"n_matches": 0}, "n_matches: Ensure this value is greater"),
        ({"n_matches": "many"}, "n_matches: Enter a whole number"),
        ({"seed": -1}, "seed: Ensure"),
        ({"pairing": "chaos"}, "pairing: Select a valid choice"),
        ({"faults": '{"error_rate": 3}'}, "faults: "),
        ({"faults": '{"charge": "nobody"}'}, "faults: charge must be platform or agent"),
        ({"leaderboard": 999}, "leaderboard: Select a valid choice"),
    ],
)
def test_a_tournament_that_cannot_be_is_a_form_error(
    admin_client: Client, form: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    assert words in _errors(admin_client, "tournament", form | change)
    assert not Tournament.objects.exists()


def test_agents_that_cannot_meet_are_a_form_error(
    admin_client: Client, form: dict[str, Any]
) -> None:
    chess = register_spelled_agent("random", game="chess")
    for agents, words in (
        (form["agents"][:1], "needs 2 agents or more, got 1"),
        ([form["agents"][0], chess.pk], "'random' plays chess, the leaderboard is of skill_game"),
    ):
        assert words in _errors(admin_client, "tournament", form | {"agents": agents})
    assert not Tournament.objects.exists()


def test_a_refusal_after_the_forms_check_is_a_message(
    admin_client: Client, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.admin.tournaments.schedule_tournament", _refuse)
    response = admin_client.post("/admin/matches/tournament/add/", form, follow=True)
    assert response.status_code == 200
    assert "is retired" in response.content.decode()
    assert not Tournament.objects.exists()


def _refuse(*_: object, **__: object) -> None:
    raise BadInputError("agents", "'level:10' is retired")


def test_a_scheduled_tournament_is_not_edited(admin_client: Client, broker: Redis) -> None:
    tournament = factories.scheduled()
    address = f"/admin/matches/tournament/{tournament.pk}/change/"
    assert admin_client.post(address, {"name": "other"}).status_code == 403
    assert "level:10, level:50, level:90" in admin_client.get(address).content.decode()


def test_a_match_shows_seats_attempts_and_reasons(admin_client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=84)
    outcome = Outcome.objects.filter(is_forfeit=True).first()
    assert outcome is not None
    page = admin_client.get(f"/admin/matches/match/{outcome.pk}/change/").content.decode()
    for words in ("illegal", "forfeits", "node-1", f'href="/matches/{outcome.pk}/"'):
        assert words in page


@pytest.mark.parametrize("name", ["match", "outcome", "worker", "order"])
def test_what_services_write_is_only_looked_at(
    admin_client: Client, broker: Redis, name: str
) -> None:
    boards.played_board(n_matches=84)
    (model,) = (m for m in admin.site._registry if m._meta.label_lower == f"matches.{name}")
    row = model._default_manager.earliest("pk")
    address = f"/admin/matches/{name}"
    assert admin_client.post(f"{address}/add/").status_code == 403
    assert admin_client.post(f"{address}/{row.pk}/change/", {"state": "void"}).status_code == 403
    assert admin_client.post(f"{address}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    form = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    admin_client.post(f"{address}/", form)
    assert model._default_manager.filter(pk=row.pk).exists()


def test_the_list_of_matches_is_filtered_and_counts_nothing(
    admin_client: Client, broker: Redis, django_assert_max_num_queries: Any
) -> None:
    tournament = factories.planned(150)
    address = f"/admin/matches/match/?tournament={tournament.pk}&state__exact=pending"
    with django_assert_max_num_queries(8) as queries:
        page = admin_client.get(address)
    assert page.status_code == 200
    assert not [q for q in queries.captured_queries if "COUNT(" in q["sql"].upper()]
    for odd in ("x", "99999999999999999999999", "-1"):
        assert admin_client.get(f"/admin/matches/match/?tournament={odd}").status_code in {200, 302}


def test_a_list_offers_all_its_rows_without_a_made_up_number(admin_client: Client) -> None:
    factories.planned(60)
    page = admin_client.get("/admin/matches/match/").content.decode()
    assert "Select all matches of this list</a>" in page
    assert "9999999999" not in page
    for short in ("/admin/matches/match/?p=2", "/admin/matches/leaderboard/"):
        page = admin_client.get(short).content.decode()
        assert ("of this list</a>" in page) is ("p=2" in short), short
        assert "9999999999" not in page


def test_an_agent_that_may_play_bears_no_cross(admin_client: Client) -> None:
    agent = register_spelled_agent("level:30", game="skill_game")
    for address in ("", f"{agent.pk}/change/"):
        page = admin_client.get(f"/admin/matches/agent/{address}").content.decode()
        assert "may play" in page
        assert ">close<" not in page.partition("<main")[2].partition("</main")[0]


def test_a_message_writes_a_name_as_it_was_typed(admin_client: Client) -> None:
    agent = register_spelled_agent("level:31", game="skill_game")
    address = f"/admin/matches/agent/ask/retire/?pk={agent.pk}"
    form = form_on(admin_client.get(address).content.decode())
    page = admin_client.post(address, form, follow=True).content.decode()
    assert "level:31 is retired." in page


def test_beginning_a_season_has_nothing_chosen(admin_client: Client) -> None:
    board = open_leaderboard("calm", game="skill_game")
    address = f"/admin/matches/leaderboard/ask/begin/?pk={board.pk}"
    page = admin_client.get(address).content.decode()
    assert 'value="reset" selected' not in page
    assert 'value="carry" selected' not in page
    answer = admin_client.post(address, {**form_on(page), "name": "spring", "mode": ""})
    assert "This field is required" in answer.content.decode()
    assert Leaderboard.objects.get(pk=board.pk).season_name == ""


def test_the_heading_of_a_row_writes_its_name_as_it_was_typed(admin_client: Client) -> None:
    agent = register_spelled_agent("level:32", game="skill_game")
    page = admin_client.get(f"/admin/matches/agent/{agent.pk}/change/").content.decode()
    assert "Level:32" not in page


def test_lists_write_times_as_pages_do(admin_client: Client, broker: Redis) -> None:
    tournament = factories.scheduled()
    page = admin_client.get("/admin/matches/tournament/").content.decode()
    assert f"{tournament.created_at:%Y-%m-%d %H:%M:%S}" in page


@pytest.mark.parametrize("n_matches", ["20", "0"])
def test_a_form_says_an_error_once(
    admin_client: Client, form: dict[str, Any], n_matches: str
) -> None:
    other = Agent.objects.create(name="stranger", game="connect_four", policy="random")
    sent = {**form, "agents": [*form["agents"], other.pk], "n_matches": n_matches}
    answer = admin_client.post("/admin/matches/tournament/add/", sent)
    for message in [text for texts in _form_of(answer).errors.values() for text in texts]:
        assert answer.content.decode().count(escape(message)) == 1, message


def test_an_act_that_is_refused_says_so_once(admin_client: Client, broker: Redis) -> None:
    tournament = factories.planned()
    address = f"/admin/matches/tournament/ask/extend/?pk={tournament.pk}"
    fields = form_on(admin_client.get(address).content.decode()) | {"n_matches": "3"}
    answer = admin_client.post(address, fields)
    (message,) = answer.context["form"].errors["n_matches"]
    assert answer.content.decode().count(escape(message)) == 1


def _form_of(answer: Any) -> Any:
    return answer.context["adminform"].form


def test_a_form_that_starts_something_says_so_on_its_button(
    admin_client: Client, broker: Redis
) -> None:
    tournament = factories.scheduled()
    for model, words in (("tournament", "Schedule tournament"), ("schedule", "Save schedule")):
        assert words in admin_client.get(f"/admin/matches/{model}/add/").content.decode()
    row = admin_client.get(f"/admin/matches/tournament/{tournament.pk}/change/").content.decode()
    assert "Schedule tournament" not in row
    assert "Save and add another" in admin_client.get("/admin/matches/agent/add/").content.decode()


def test_the_menu_leads_to_every_list_of_ours(admin_client: Client) -> None:
    page = admin_client.get("/admin/").content.decode()
    for model in admin.site._registry:
        if model._meta.app_label in {"matches", "experience"}:
            assert f'href="/admin/{model._meta.app_label}/{model._meta.model_name}/"' in page
