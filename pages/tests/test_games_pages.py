"""The pages of games: the list, and the reference of each."""

from pathlib import Path

import pytest
from django.test import Client
from redis import Redis

from arena import catalogs
from arena.games import registry as games
from matches.tests import callers
from pages.games import draw_start
from pages.replays import RecordedMatch, replay_match
from tests.catalogs import each_game

pytestmark = pytest.mark.django_db


def read_page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_names_every_game(client: Client) -> None:
    page = read_page(client, "/games/")
    for name in games.names():
        assert f'href="/games/{name}/">{games.get(name).spec.title}</a>' in page


@pytest.mark.parametrize("name", ["kuhn_poker", "connect_four", "skill_game"])
def test_a_reference_says_what_is_observed_and_done(client: Client, name: str) -> None:
    page = read_page(client, f"/games/{name}/")
    spec = games.get(name).spec
    for part in spec.observation_parts:
        assert part.holds in page
    assert f"{spec.n_actions:,}, numbered from 0" in page
    assert '<svg class="drawn"' in page
    state = games.get(name).start(1, opening_plies=spec.opening_plies)
    assert f">{state.action_name(state.legal_actions()[0])}<" in page.replace(", ", "<>")


@each_game(games.names())
def test_what_draws_its_positions_draws_the_first(name: str) -> None:
    drawn = draw_start(games.get(name))
    assert "picture_problem" not in drawn
    assert ("drawn" in drawn) is hasattr(games.get(name), "picture")


def test_an_unknown_game_is_answered_with_those_there_are(client: Client) -> None:
    response = client.get("/games/ludo/")
    assert response.status_code == 404
    answer = client.get("/api/v1/games/ludo/")
    assert answer.status_code == 404
    assert "connect_four" in answer.json()["detail"]


UGLY = """
from arena.games.registry import get

class Ugly:
    spec = get("tic_tac_toe").spec
    parameters = {}
    def configured(self, parameters): return self
    def start(self, game_seed, *, opening_plies):
        return get("tic_tac_toe").start(game_seed, opening_plies=opening_plies)
    def picture(self, state, seat=None): raise OSError("no pen")

GAME = Ugly()
"""


AWAY = UGLY.replace(
    'return get("tic_tac_toe").start(game_seed, opening_plies=opening_plies)',
    'raise UnsupportedGameError("/srv/own/tools has no Node.js: ./run tools install showdown")',
).replace("from", "from arena.errors import UnsupportedGameError\nfrom", 1)


def test_a_game_that_lacks_a_program_has_a_page_that_says_which(
    client: Client, admin_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "away.py").write_text(AWAY)
    (tmp_path / "games" / "broken.py").write_text("import no_such_package")
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path))
    catalogs.clear_loaded()
    try:
        page = read_page(client, "/games/away/")
        assert "…/tools has no Node.js: ./run tools install showdown" in page
        assert "9, numbered from 0" in page
        assert "How it begins" not in page
        answer = client.get("/api/v1/games/away/")
        assert answer.status_code == 404
        assert answer.json()["detail"].startswith("…/tools has no Node.js")
        # Where files lie on the server is for who operates it.
        assert str(tmp_path) not in read_page(client, "/games/")
        assert str(tmp_path) not in client.get("/games/broken/").content.decode()
        for address in ("/models/?for=", "/api/v1/recommendations/?game="):
            text = client.get(f"{address}broken&rating=5").content.decode()
            assert "broken.py: ModuleNotFoundError" in text
            assert str(tmp_path) not in text
        assert str(tmp_path) in read_page(admin_client, "/games/")
        assert "/srv/own/tools has no Node.js" in read_page(admin_client, "/games/away/")
        detail = admin_client.get("/api/v1/games/away/").json()["detail"]
        assert detail.startswith("/srv/own/tools")
        problem = replay_match(RecordedMatch("away", {}, None, 1, "4")).problem
        assert problem.startswith("…/tools has no Node.js")
    finally:
        monkeypatch.undo()
        catalogs.clear_loaded()


def test_only_staff_is_told_in_which_folder_a_broken_plugin_lies(
    client: Client,
    admin_client: Client,
    broker: Redis,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "my plug ins"
    (folder / "games").mkdir(parents=True)
    (folder / "games" / "broken.py").write_text("import no_such_package")
    monkeypatch.setenv("EVALSITE_PLUGINS", str(folder))
    monkeypatch.setattr("evalsite.health._kept._until", 0.0)
    catalogs.clear_loaded()
    evaluation = {"game": "broken", "agents": ["random", "greedy"], "n_matches": 4}
    submitter = callers.with_token(callers.token("submitter", callers.SUBMITTER))
    try:
        answers = [client.get(address) for address in ("/health/", "/readyz", "/system/")]
        answers.append(submitter.post("/api/v1/evaluations/", evaluation, "application/json"))
        for answer in answers:
            text = answer.content.decode()
            assert "broken.py" in text
            assert "ModuleNotFoundError" in text
            assert "plug ins" not in text
        for address in ("/health/", "/readyz"):
            assert str(folder) in admin_client.get(address).content.decode()
        refused = admin_client.post("/api/v1/evaluations/", evaluation, "application/json")
        assert str(folder) in refused.json()["errors"][0]["message"]
    finally:
        monkeypatch.undo()
        catalogs.clear_loaded()


def test_a_plugin_that_cannot_draw_or_load_breaks_no_page(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "ugly.py").write_text(UGLY)
    (tmp_path / "games" / "broken.py").write_text("import no_such_package")
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path))
    catalogs.clear_loaded()
    try:
        assert "It cannot be drawn: no pen" in read_page(client, "/games/ugly/")
        assert "no_such_package" in read_page(client, "/games/")
    finally:
        monkeypatch.undo()
        catalogs.clear_loaded()
