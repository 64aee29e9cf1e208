"""The command line against the running app, as people use it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evalsite_client.cli.main as entry
from evalsite_client import Client, ConflictError
from evalsite_client.cli import checkpoints
from evalsite_client.cli.main import main
from evalsite_client.cli.show import format_table
from evalsite_client.progress import ProgressLine
from evalsite_client.retries import NEVER
from evalsite_client.tests.commands import Evalsite, as_json, ok
from matches.models import Leaderboard, Match, Tournament, TrajectoryPiece, Worker
from matches.ratings import rater
from matches.tests import boards, callers, factories
from matches.tests.weights import weights

pytestmark = pytest.mark.django_db(transaction=True)


def test_agents_are_registered_listed_and_retired(evalsite: Evalsite) -> None:
    one = ("register", "mcts-50", "--game", "connect_four", "--policy", "mcts")
    made = as_json(evalsite(*one, "-p", "simulations=50", "--json"))
    assert made["parameters"] == {"simulations": 50}
    table = ok(evalsite("agents", "--game", "connect_four", "--policy", "mcts"))
    assert "mcts-50" in table
    assert "simulations=50" in table
    assert as_json(evalsite("--json", "agents", "--name", "nobody")) == []
    assert ok(evalsite("agents", "--name", "nobody")) == "none\n"
    assert ok(evalsite("retire", made["id"])).endswith("retired     yes\n")
    assert not as_json(evalsite("unretire", made["id"], "--json"))["is_retired"]


def _field(evalsite: Evalsite) -> None:
    ok(evalsite("open", "c4", "--game", "connect_four", "--opening-plies", 2))
    for name in ("random", "greedy"):
        ok(evalsite("register", name, "--game", "connect_four", "--policy", name))


def test_a_tournament_is_scheduled_by_names_and_changed(evalsite: Evalsite) -> None:
    _field(evalsite)
    command = ("schedule", "-l", "c4", "-n", 8, "random", "greedy", "--paused")
    limits = ("--move-s", 2, "--match-s", 60, "--keep-trajectories", "--unrated", "--seed", 3)
    made = as_json(evalsite(*command, *limits, "--json"))
    assert (made["name"], made["state"], made["move_s"]) == ("random, greedy", "paused", 2)
    number = made["id"]
    assert "waits for  somebody to resume it" in ok(evalsite("explain", "tournament", number))
    for change, state in (("start", "scheduled"), ("pause", "paused"), ("resume", "scheduled")):
        assert state in ok(evalsite(change, number))
    assert as_json(evalsite("extend", number, "-n", 20, "--json"))["n_matches"] == 20
    assert "random, greedy" in ok(evalsite("tournaments", "-l", "c4", "--state", "scheduled"))
    assert "cancelled" in ok(evalsite("cancel", number))
    with Client() as client, pytest.raises(ConflictError):
        client.tournaments.resume(number)
    assert f"evalsite watch {number + 1}" in ok(evalsite(*command, "--name", "second"))
    status, out, _ = evalsite("watch", number)
    assert (status, out) == (1, "random, greedy is cancelled: 0 of 20 played\n")


def test_pinned_boards_come_first_and_unlisted_ones_only_when_asked_for(evalsite: Evalsite) -> None:
    for name in ("oldest", "middle", "newest"):
        ok(evalsite("open", name, "--game", "connect_four"))
    assert ok(evalsite("boards", "pin", "oldest", "--reason", "our own")) == "oldest: pinned\n"
    assert ok(evalsite("boards", "unlist", "middle")) == "middle: unlisted\n"

    def names(*options: str) -> list[str]:
        return [line.split()[0] for line in ok(evalsite("boards", *options)).splitlines()[1:]]

    assert names() == ["oldest", "newest"]
    assert names("--all") == ["oldest", "newest", "middle"]
    assert names("--limit", "1") == ["oldest"]
    ok(evalsite("boards", "unpin", "oldest"))
    assert names() == ["newest", "oldest"]
    status, _, complaint = evalsite("boards", "pin")
    assert (status, "name the leaderboards to pin" in complaint) == (2, True)


def test_of_two_that_are_even_neither_is_the_better_one(evalsite: Evalsite) -> None:
    tournament = factories.planned(8, agents=["level:10", "level:90"])
    boards.play_some(tournament, 8, factories.first_wins)  # each as often as the other
    rater.rate(tournament.leaderboard_id, now=factories.later(1))
    text = ok(evalsite("compare", "level:10", "level:90", "-l", "board"))
    assert text.startswith("neither can be told to be the better one: it is 50.0% either way\n")


def test_a_board_is_shown_and_two_of_it_are_compared(evalsite: Evalsite) -> None:
    boards.played_board(n_matches=84)
    assert "connect-four" in ok(evalsite("boards", "--game", "connect_four"))
    Leaderboard.objects.update(is_listed=False)
    assert "connect-four" not in ok(evalsite("boards"))
    assert "connect-four" in ok(evalsite("boards", "--all"))
    assert ok(evalsite("boards", "list", "connect-four")) == "connect-four: listed\n"
    assert len(as_json(evalsite("board", "connect-four", "--limit", 3, "--json"))) == 3
    best, *_, worst = (
        line.split()[2] for line in ok(evalsite("board", "connect-four")).splitlines()[1:]
    )
    text = ok(evalsite("compare", best, worst, "-l", "connect-four"))
    assert text.startswith(f"{best} is the better one with ")
    assert f"P({best} > {worst})" in text
    comparison = as_json(evalsite("compare", worst, best, "-l", "connect-four", "--json"))
    assert comparison["comparison"]["p_above"] < 0.5
    assert [rating["agent"]["name"] for rating in comparison["ratings"]] == [worst, best]
    with Client() as client:
        top = next(client.leaderboards.ratings("connect-four"))
        assert top.conservative < top.low < top.mu
        assert 0 < (top.win_share or 0) <= 1
        *_, last = client.leaderboards.ratings("connect-four")
        compared = client.leaderboards.compare("connect-four", top.agent.id, last.agent.id)
        assert compared.head_to_head.n_matches >= 0
        assert compared.leader == top.agent
        assert compared.certainty >= 0.5
        assert client.matches.get(Match.objects.earliest("pk").pk).outcome is not None


def test_what_happens_is_explained_and_listed(evalsite: Evalsite) -> None:
    tournament = factories.planned(12)
    factories.alive()
    match = tournament.matches.earliest("pk")
    for kind, number in (
        ("match", match.pk),
        ("agent", tournament.agents.earliest("pk").pk),
        ("tournament", tournament.pk),
        ("worker", Worker.objects.get().pk),
    ):
        assert f"{kind} {number}" in ok(evalsite("explain", kind, number))
    assert "node" in ok(evalsite("workers"))


def test_what_is_explained_may_be_named(evalsite: Evalsite) -> None:
    tournament = factories.planned(4)
    factories.alive()
    agent = tournament.agents.get(name="level:50")
    assert f"tournament {tournament.pk} test" in ok(evalsite("explain", "tournament", "test"))
    named = evalsite("explain", "agent", "level:50", "--game", "skill_game")
    assert f"agent {agent.pk} level:50" in ok(named)
    explanation = as_json(evalsite("explain", "worker", factories.NODE, "--json"))
    assert (explanation["id"], explanation["name"]) == (Worker.objects.get().pk, factories.NODE)


def test_an_agent_of_several_games_is_explained_once_its_game_is_named(evalsite: Evalsite) -> None:
    for game in ("connect_four", "hex"):
        ok(evalsite("register", "twin", "--game", game, "--policy", "random"))
    status, _, err = evalsite("explain", "agent", "twin")
    assert (status, "--game says which" in err) == (2, True)
    assert "twin" in ok(evalsite("explain", "agent", "twin", "--game", "hex"))


def test_a_checkpoint_is_uploaded(evalsite: Evalsite, tmp_path: Path) -> None:
    path = weights(tmp_path / "new.safetensors")
    command = ("upload", path, "--name", "run", "--game", "connect_four", "--architecture", "mlp")
    made = as_json(evalsite(*command, "--step", 7, "--json"))
    assert [agent["name"] for agent in made["agents"]] == ["run@7"]
    assert "run@7" in ok(evalsite("checkpoints", "--run", "run", "--state", made["state"]))
    other = (command[0], weights(tmp_path / "other.safetensors", seed=1), *command[2:])
    status, _, err = evalsite(*other, "--step", 8, "--wait", "--timeout", 0.1)
    assert (status, "still being checked" in err) == (1, True)


def test_trajectories_are_fetched(evalsite: Evalsite, tmp_path: Path) -> None:
    tournament = factories.planned(keeps_trajectories=True)
    download = as_json(evalsite("download", tournament.pk, tmp_path / "kept", "--json"))
    assert download["files"] == []
    manifest = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    assert (manifest["tournament"], manifest["is_complete"]) == (tournament.pk, False)
    assert not TrajectoryPiece.objects.exists()
    assert "0 pieces" in ok(evalsite("download", tournament.pk, tmp_path / "kept"))


def test_trajectories_are_not_mixed_with_those_of_another_tournament(
    evalsite: Evalsite, tmp_path: Path
) -> None:
    kept = factories.planned(keeps_trajectories=True)
    ok(evalsite("download", kept.pk, tmp_path / "kept"))
    before = (tmp_path / "kept" / "manifest.json").read_text()
    other = factories.planned(board="other", keeps_trajectories=True)
    status, _, err = evalsite("download", other.pk, tmp_path / "kept")
    assert (status, "choose a new folder" in err) == (2, True)
    # As after an older database was restored: the number is another tournament's now.
    Tournament.objects.filter(pk=kept.pk).update(created_at=factories.later(3_600))
    status, _, err = evalsite("download", kept.pk, tmp_path / "kept")
    assert (status, "choose a new folder" in err) == (2, True)
    assert (tmp_path / "kept" / "manifest.json").read_text() == before
    (tmp_path / "kept" / "manifest.json").write_text("[")
    assert "is no manifest of ours" in evalsite("download", kept.pk, tmp_path / "kept")[2]


def test_tokens_are_made_with_a_password_listed_and_revoked(
    evalsite: Evalsite, monkeypatch: Any
) -> None:
    user = callers.user("bob", callers.SUBMITTER)
    user.set_password("correct horse")
    user.save()
    monkeypatch.setenv("EVALSITE_PASSWORD", "correct horse")
    secret = ok(evalsite("token", "laptop", "--user", "bob", "-s", "read", "--days", 3)).strip()
    monkeypatch.setenv("EVALSITE_TOKEN", secret)
    (made,) = as_json(evalsite("tokens", "--json"))
    assert (made["user"], made["name"], made["scopes"]) == ("bob", "laptop", ["read"])
    assert "laptop" in ok(evalsite("tokens"))
    assert "is revoked" in ok(evalsite("revoke", made["id"]))
    status, _, err = evalsite("tokens")
    assert (status, "get a new one" in err, "EVALSITE_TOKEN" in err) == (2, True, True)


def test_without_a_terminal_a_password_comes_by_the_environment(
    evalsite: Evalsite, monkeypatch: Any
) -> None:
    def end_input(_: str) -> str:
        raise EOFError

    monkeypatch.delenv("EVALSITE_PASSWORD", raising=False)
    monkeypatch.setattr("evalsite_client.cli.tokens.getpass", end_input)
    status, _, err = evalsite("token", "laptop", "--user", "bob")
    assert (status, "password of 'bob': set EVALSITE_PASSWORD" in err) == (2, True)


def test_no_name_is_no_agent(evalsite: Evalsite) -> None:
    _field(evalsite)
    for words in (("compare", "", "random", "-l", "c4"), ("schedule", "-l", "c4", "-n", 2, "")):
        status, _, err = evalsite(*words)
        assert (status, "there is no agent ''" in err) == (2, True), err
    status, _, err = evalsite("explain", "agent", "")
    assert (status, "is empty: name the agent" in err) == (2, True)


REFUSED = [
    ("register a --game poker --policy mcts", "game: "),
    ("register a --game connect_four --policy mcts -p depth", "'depth' is not of the form"),
    ("board nowhere", "there is no leaderboard nowhere: `evalsite boards` lists them"),
    ("watch 77", "there is no tournament 77"),
    ("explain match 77", "there is no match 77"),
    ("explain match x", "there is no match 'x'"),
    (f"explain agent {'1' * 30}", "there is no agent '111"),
    ("watch -1", "whole number"),
    ("watch 1 --timeout 0", "'0' is no number of seconds above 0"),
    ("watch 1 --timeout soon", "'soon'"),
    ("schedule -l c4 -n 8 random nobody", "AGENT: there is no agent 'nobody' in connect_four"),
    ("schedule -l c4 -n 8 random 4242", "there is no agent 4242: `evalsite agents`"),
    ("schedule -l c4 -n 8 random", "agents: a tournament of connect_four needs 2 agents"),
    ("schedule -l c4 -n 8 random greedy --pairing cheese", "cheese"),
    ("compare random random -l c4", "is the same agent as A"),
    ("compare random greedy -l c4", "is not on leaderboard 'c4'"),
    ("upload nothing.safetensors --name a", "nothing.safetensors cannot be read"),
    ("--url nonsense boards", "base_url: 'nonsense'"),
    ("retire 1 --token wrong", "evalsite: EVALSITE_TOKEN or --token logs in"),
    ("nonsense", "invalid choice"),
    ("", "required"),
]


def test_a_token_without_the_scope_is_told_how_to_get_it(evalsite: Evalsite) -> None:
    _field(evalsite)
    reader = callers.token("reader", callers.READER)
    status, _, err = evalsite("retire", "1", "--token", reader)
    assert (status, "the token lacks the scope 'operate'" in err) == (2, True)
    assert "EVALSITE_TOKEN or --token logs in" not in err


def test_what_is_refused_names_the_value_and_ends_with_2(evalsite: Evalsite) -> None:
    _field(evalsite)
    for arguments, words in REFUSED:
        status, out, err = evalsite(*arguments.split())
        assert (status, out) == (2, ""), (arguments, err)
        assert words in err
        assert "Traceback" not in err
    assert not Tournament.objects.exists()


def test_with_json_a_refusal_is_json_too(evalsite: Evalsite) -> None:
    status, _, err = evalsite("register", "a", "--game", "poker", "--policy", "x", "--json")
    problem = json.loads(err)
    assert (status, problem["status"], problem["errors"][0]["field"]) == (2, 400, "game")
    status, _, err = evalsite("--json", "boards", "--url", "nonsense")
    assert (status, json.loads(err)["error"]) == (2, "InputError")


def test_a_server_that_is_not_there_ends_with_1(evalsite: Evalsite, monkeypatch: Any) -> None:
    monkeypatch.setattr("evalsite_client.client.Retries", lambda: NEVER)
    status, _, err = evalsite("boards", "--url", "http://127.0.0.1:9")
    assert (status, err) == (
        1,
        "evalsite: http://127.0.0.1:9 does not answer: [Errno 111] Connection refused\n",
    )


def _ended(monkeypatch: Any, error: BaseException) -> int:
    def fail(_: Any) -> None:
        raise error

    monkeypatch.setattr(entry, "_run_command", fail)
    return main(["boards"])


def test_ctrl_c_ends_with_130(monkeypatch: Any) -> None:
    assert _ended(monkeypatch, KeyboardInterrupt()) == 130


def test_a_file_that_cannot_be_written_ends_with_1(monkeypatch: Any, capsys: Any) -> None:
    assert _ended(monkeypatch, OSError(28, "No space left on device")) == 1
    assert "No space left" in capsys.readouterr().err


def test_a_watch_writes_a_line_of_json_per_look(evalsite: Evalsite) -> None:
    tournament = boards.played_board(n_matches=84)
    Tournament.objects.filter(pk=tournament.pk).update(state=Tournament.State.DONE)
    (line,) = ok(evalsite("watch", tournament.pk, "--json")).splitlines()
    progress = json.loads(line)
    assert (progress["state"], progress["n_matches"], progress["eta_s"]) == ("done", 84, 0.0)


def test_a_watch_tells_no_length_below_nothing(evalsite: Evalsite) -> None:
    tournament = boards.played_board(n_matches=84)
    # The clock was set back meanwhile.
    ended = {"started_at": factories.NOW, "finished_at": factories.later(-3_600)}
    Tournament.objects.filter(pk=tournament.pk).update(state=Tournament.State.DONE, **ended)
    assert "is done: 84 of 84 played" in ok(evalsite("watch", tournament.pk))


def test_a_watch_that_is_interrupted_says_that_it_goes_on(
    evalsite: Evalsite, monkeypatch: Any
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "__call__", interrupted)
    tournament = factories.planned(12)
    status, out, err = evalsite("watch", tournament.pk)
    assert (status, out) == (130, "")
    assert f"tournament {tournament.pk} goes on" in err


def test_help_has_examples_and_exit_codes() -> None:
    for arguments in ([], ["schedule"], ["upload"], ["compare"], ["token"]):
        command = [sys.executable, "-m", "evalsite_client", *arguments, "--help"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ}
        )
        assert "examples:" in done.stdout


def test_a_table_has_columns() -> None:
    assert format_table(("n", "name"), [(1, "a"), (20, None)]) == " n  name\n 1  a\n20  -"
    assert format_table(("n",), []) == "none"


def test_an_upload_shows_on_a_terminal_how_much_is_sent(monkeypatch: Any) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    from_cli = checkpoints._make_progress()
    assert from_cli is not None
    from_cli(500_000, 1_000_000)
    from_cli(1_000_000, 1_000_000)
    assert terminal.getvalue() == "\r 50% of 1.0 MB sent\r100% of 1.0 MB sent\n"


def test_an_output_that_is_closed_is_no_traceback(evalsite: Evalsite, monkeypatch: Any) -> None:
    ok(evalsite("open", "board", "--game", "chess"))
    # As Python has it after `>&- 2>&-`.
    with monkeypatch.context() as closed:
        closed.setattr("sys.stdout", None)
        closed.setattr("sys.stderr", None)
        assert main(["boards"]) == 0
        assert main(["board", "nowhere"]) == 2


def test_a_number_with_more_digits_than_any_id_is_called_so(evalsite: Evalsite) -> None:
    status, _, err = evalsite("pause", "9" * 23)
    assert (status, f"{'9' * 23} has 23 digits: 19 at most" in err) == (2, True)


def test_the_address_of_the_api_in_place_of_the_servers_is_named(
    evalsite: Evalsite, monkeypatch: Any
) -> None:
    monkeypatch.setenv("EVALSITE_URL", f"{os.environ['EVALSITE_URL']}/api/v1")
    status, _, err = evalsite("boards")
    assert (status, "nothing is at /api/v1/api/v1/leaderboards/" in err) == (2, True)
