"""A folder of teams is checked by the package's validator and becomes a game of a plug-in."""

from pathlib import Path

import pytest

from arena import catalogs
from arena.errors import UnsupportedGameError
from arena.games import registry
from launcher import cli
from launcher.folders import ROOT
from tests.catalogs import needs_simulator

TEAMS = ROOT / "arena" / "games" / "showdown" / "teams" / "gen1ou"
GOOD = (TEAMS / "standard.txt").read_text()


def check(*words: str) -> int:
    return cli.main(["showdown", "teams", *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one team that may play."""
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "mine.txt").write_text(GOOD)
    return tmp_path / "sets"


@needs_simulator
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Mewtwo\n- Psychic\n", "bad.txt: Mewtwo is tagged Uber, which is banned"),
        (GOOD.replace("- Psychic", "- Fly", 1), "Alakazam can't learn Fly"),
        (GOOD.replace("Alakazam", "Spoon (Alakazam)"), "Alakazam is called Spoon, and must go by"),
        (
            GOOD.replace("Starmie", "Alakazam").replace("- Surf", "- Psychic"),
            "Alakazam is there twice, and a Pokemon is known by its species",
        ),
        ("", "bad.txt: it is no team as the team builder exports it"),
    ],
)
def test_a_team_that_may_not_play_is_named_with_what_the_validator_says(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    (folder / "bad.txt").write_text(text)
    assert check(str(folder)) == 2
    assert why in capsys.readouterr().err


@needs_simulator
@pytest.mark.parametrize(
    ("battle_format", "why"),
    [("gen1uo", "has no format gen1uo"), ("gen9ou", "no format of single battles of generation 1")],
)
def test_a_format_that_is_not_played_here_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], battle_format: str, why: str
) -> None:
    assert check(str(folder), "--format", battle_format) == 2
    assert why in capsys.readouterr().err


@needs_simulator
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--game", "my_ou"), "--game and --plugins go together"),
        (("--game", "My-OU", "--plugins", "p"), "up to 60 lower-case letters"),
        (("--game", "été", "--plugins", "p"), "up to 60 lower-case letters"),
        (("--game", "__init__", "--plugins", "p"), "up to 60 lower-case letters"),
        (("--format", 'gen1ou"'), "must be lower-case letters and digits"),
        (("--format", "Gen 1 OU"), "must be lower-case letters and digits"),
    ],
)
def test_options_that_make_no_game_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    assert check(str(folder), *words) == 2
    assert why in capsys.readouterr().err


@needs_simulator
def test_a_folder_of_plugins_that_cannot_be_written_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert check(str(folder), "--game", "my_ou", "--plugins", str(tmp_path / "file")) == 2
    assert "file cannot be written" in capsys.readouterr().err


@needs_simulator
@pytest.mark.parametrize("game", ["connect_four", "mine"])
def test_no_game_is_written_over_another_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], game: str
) -> None:
    own = tmp_path / "plugins" / "games" / "mine.py"
    own.parent.mkdir(parents=True)
    own.write_text("GAME = None\n")
    assert check(str(folder), "--game", game, "--plugins", str(tmp_path / "plugins")) == 2
    assert "there is another game of this id" in capsys.readouterr().err
    assert own.read_text() == "GAME = None\n"
    assert list(own.parent.iterdir()) == [own]


@needs_simulator
def test_sets_that_lie_where_they_would_be_copied_to_are_kept(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "plugins" / "games" / "my_ou_teams"
    own.parent.mkdir(parents=True)
    folder.rename(own)
    assert check(str(own), "--game", "my_ou", "--plugins", str(tmp_path / "plugins")) == 0
    assert (own / "mine.txt").read_text() == GOOD


def test_a_folder_that_is_missing_or_empty_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(str(tmp_path / "nothing")) == 2
    assert "there is no folder" in capsys.readouterr().err


@needs_simulator
def test_a_game_of_own_teams_is_played_until_they_are_changed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(str(folder), "--game", "my_ou", "--plugins", str(tmp_path / "plugins")) == 0
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path / "plugins"))
    catalogs.clear_loaded()
    try:
        game = registry.get("my_ou")
        assert "Alakazam" in game.start(1, opening_plies=0).describe()
        (tmp_path / "plugins" / "games" / "my_ou_teams" / "mine.txt").write_text(GOOD + "\n")
        catalogs.clear_loaded()
        with pytest.raises(UnsupportedGameError, match="are not those of my_ou"):
            registry.get("my_ou").start(1, opening_plies=0)
    finally:
        catalogs.clear_loaded()
