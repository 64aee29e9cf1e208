from pathlib import Path

import pytest

from gameservers.showdown.errors import SetUpError
from gameservers.showdown.settings import is_on_this_machine, read_options, read_teams

KNOWN = ("--node", "node", "--package-version", "0.11.11", "--rules-version", "1001111")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:8000", "ws://127.0.0.1:8000/showdown/websocket"),
        ("[::1]:8000", "ws://[::1]:8000/showdown/websocket"),
        ("wss://sim.example", "wss://sim.example/showdown/websocket"),
        ("wss://sim.example/own/path", "wss://sim.example/own/path"),
    ],
)
def test_an_address_may_be_short_or_whole(text: str, url: str) -> None:
    assert read_options(["--address", text, *KNOWN]).address == url


def test_without_options_it_challenges_on_this_machine_under_names_of_its_own() -> None:
    first, second = read_options(KNOWN), read_options(KNOWN)
    assert (first.mode, first.format, first.game) == (
        "challenge",
        "gen1randombattle",
        "showdown_server_gen1random",
    )
    assert is_on_this_machine(first.address)
    assert first.user != second.user


def test_a_server_elsewhere_is_told_from_one_of_this_machine() -> None:
    assert is_on_this_machine("ws://localhost:8000/showdown/websocket")
    assert not is_on_this_machine("wss://sim.example/showdown/websocket")
    assert not is_on_this_machine("ws://192.0.2.1:8000/showdown/websocket")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--address", "nowhere"),
        ("--address", "http://127.0.0.1:8000"),
        ("--address", "127.0.0.1:x"),
        ("--format", "gen1 random"),
        ("--user", "1st"),
        ("--user", "much_too_long_a_name"),
        ("--mode", "tournament"),
        ("--slots", "0"),
        ("--find-s", "-1"),
        ("--find-s", "soon"),
        ("--port", "65536"),
    ],
)
def test_what_it_cannot_take_is_named_in_one_line(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        read_options([option, value, *KNOWN])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"argument {option}" in message
    assert value in message


def test_teams_are_the_texts_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second")
    (tmp_path / "a.txt").write_text("first")
    assert read_teams(tmp_path) == ["first", "second"]
    assert read_teams(None) == []
    with pytest.raises(SetUpError, match=r"there is no \.txt file"):
        read_teams(tmp_path / "missing")


def test_a_team_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SetUpError, match=r"a\.txt cannot be read as text"):
        read_teams(tmp_path)
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt").mkdir()
    with pytest.raises(SetUpError, match=r"b\.txt cannot be read as text"):
        read_teams(tmp_path)
