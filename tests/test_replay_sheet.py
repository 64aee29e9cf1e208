"""The sheet of all games in docs is of the games that there are."""

from pathlib import Path

from arena.games import registry as games

SHEET = Path(__file__).resolve().parent.parent / "docs" / "replays.svg"
MAX_BYTES = 140_000


def test_the_sheet_has_every_game_in_both_lights() -> None:
    sheet = SHEET.read_text()
    again = "make it anew: .venv/bin/python docs/replays.py"
    for name in games.names():
        assert f'<g id="{name}">' in sheet, again
        assert sheet.count(f'<use href="#{name}"') == 2, again
    assert len(sheet) <= MAX_BYTES
