"""`evalsite plugin new` and `check`: an author's machine, no server, plug-ins that misbehave."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite_client.cli.main import main
from evalsite_client.cli.plugins import FAMILIES

SLEEPS = "import time; time.sleep(60)"
Check = Callable[..., tuple[int, str]]
LIMIT = "60"


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVALSITE_PLUGINS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*words: object, limit: str = LIMIT) -> tuple[int, str]:
        status = main(["plugin", "check", *map(str, words), "--limit", limit])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def write(family: str, name: str, *edits: tuple[str, str]) -> Path:
    """Write the skeleton of a family with a mistake in it; return its file."""
    assert main(["plugin", "new", family, name]) == 0
    path = Path(FAMILIES[family].folder) / f"{name}.py"
    text = path.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_plugin_passes_every_check(family: str, check: Check) -> None:
    status, printed = check(write(family, "mine"))
    assert status == 0, printed
    assert ", 0 failed" in printed


@pytest.mark.parametrize(("family", "name"), [("game", "chess"), ("policy", "random")])
def test_a_file_of_a_name_that_is_taken_is_not_mistaken_for_ours(
    family: str, name: str, check: Check
) -> None:
    status, printed = check(write(family, name))
    assert status == 1
    assert f"there is another {family} '{name}' already: rename the file" in printed
    assert "0 checks passed, 1 failed" in printed


def test_a_failure_says_in_one_line_what_to_change(check: Check) -> None:
    path = write("game", "mine", ("has_chance=False", "has_chance=True"))
    status, printed = check(path)
    failures = [line for line in printed.splitlines() if line.startswith("FAIL")]
    assert status == 1
    assert "FAIL  declares what it is: opening_plies must be 0 with chance, is 2" in failures
    assert any("has_chance must be False" in line for line in failures)
    assert f"{len(failures)} failed" in printed


def test_what_hangs_is_named_and_the_other_checks_go_on(check: Check) -> None:
    looks = "        del seat\n        turn = tell_turn("
    path = write("game", "mine", (looks, f"        while True: pass\n{looks}"))
    status, printed = check(path, limit="5")
    assert status == 1
    assert "FAIL  describes every position in words: is not over after 5 s" in printed
    assert "ok    names every action" in printed
    assert printed.count("can be loaded") == 1


def test_a_game_without_end_fails_and_hangs_nothing(check: Check) -> None:
    path = write("game", "mine", ("        self.left -= action + 1\n", ""))
    status, printed = check(path)
    assert status == 1
    assert "the game of seed 1 is not over after max_steps = 21" in printed


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("import os; os._exit(7)", "FAIL  can be loaded: ended the process (status 7)"),
        ("raise SystemExit(3)", "FAIL  can be loaded: raised CatalogError: game 'mine' cannot be"),
        ("import no_such_module", "No module named 'no_such_module'"),
        (SLEEPS, "FAIL  can be loaded: is not over after 3 s"),
        ("import os, time; os.fork() or time.sleep(60)", "ok    names every action"),
        ("print('hello')", "can be loaded: it prints: remove that"),
    ],
)
def test_a_plugin_that_misbehaves_as_it_is_loaded(code: str, word: str, check: Check) -> None:
    path = write("game", "mine", ("\nfrom collections.abc", f"\n{code}\nfrom collections.abc"))
    _, printed = check(path, limit="3" if code == SLEEPS else LIMIT)
    assert word in printed


def test_a_neighbour_that_hangs_says_nothing_of_the_file_that_is_checked(check: Check) -> None:
    write("game", "hanging", ("\nfrom collections.abc", "\nwhile True: pass\nfrom collections.abc"))
    status, printed = check(write("game", "mine"), limit="20")
    assert status == 0, printed


def test_a_file_outside_of_a_plugin_folder_is_checked_too(check: Check) -> None:
    path = write("pairing", "mine").rename("mine.py")
    assert check(path)[0] == 0
    # An id that is taken is told as the server would tell it.
    status, printed = check(path.rename("random.py"))
    assert status == 1
    assert "FAIL" in printed


def test_a_policy_is_checked_on_the_games_that_are_named(check: Check) -> None:
    path = write("policy", "mine", ("actions[len(actions) // 2]", "0"))
    status, printed = check(path, "--game", "kuhn_poker")
    assert status == 0
    status, printed = check(path, "--game", "tic_tac_toe")
    assert status == 1
    assert "FAIL  plays legal actions on tic_tac_toe: act() must return legal actions" in printed
    assert "connect_four" not in printed


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "No such file"),
        ("x = (", "is no Python file"),
        ("x = 1", "must define one of GAME, POLICY, PAIRING, ARCHITECTURE; it defines none"),
        ("GAME = POLICY = 1", "it defines 2 of them"),
    ],
)
def test_what_is_no_plugin_is_refused(text: str | None, word: str, check: Check) -> None:
    if text is not None:
        Path("mine.py").write_text(text)
    status, printed = check("mine.py")
    assert status == 2
    assert word in printed


@pytest.mark.parametrize(
    ("name", "word"), [("My-Game", "lower-case"), ("schön", "lower-case"), ("nim", "there already")]
)
def test_a_new_file_needs_a_free_name(
    name: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("game", "nim")
    assert main(["plugin", "new", "game", name]) == 2
    assert word in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["plugin", "new", "game", "nim", "--folder", str(tmp_path / "file")]) == 2
    assert "folder: " in (errors := capsys.readouterr().err)
    assert "cannot be written: Not a directory" in errors


def test_without_the_core_it_says_what_to_install(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsite_client.cli.clone.find_spec", lambda name: None)
    monkeypatch.setattr("evalsite_client.cli.clone.CLONE", Path("nowhere"))
    status, printed = check(write("game", "mine"))
    assert status == 2
    assert "pip install 'CLONE[arena]'" in printed


def test_json_has_every_check(check: Check) -> None:
    path = write("pairing", "mine")
    status, printed = check(path, "--json")
    assert status == 0
    assert '"name": "can be loaded"' in printed
    assert "checks passed" not in printed


ROCK = """
from pettingzoo.classic import rps_v2
from arena.games.pettingzoo import PettingZooGame
GAME = PettingZooGame("rock", rps_v2.env, title="Rock, paper, scissors", opening_plies=2,
                      max_steps=300, has_hidden_information=True)
"""


def test_an_environment_of_pettingzoo_is_a_few_lines(check: Check) -> None:
    Path("rock.py").write_text(ROCK)
    status, printed = check("rock.py")
    assert status == 0, printed
    Path("rock.py").write_text(ROCK.replace("has_hidden_information=True", "has_chance=True"))
    status, printed = check("rock.py")
    assert status == 1
    assert "FAIL  declares what it is: opening_plies must be 0 with chance, is 2" in printed
