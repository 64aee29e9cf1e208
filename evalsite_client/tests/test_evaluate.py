"""`evalsite evaluate`: what it refuses, and what it says when it is stopped or nothing counts."""

import json
import shlex
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from evalsite_client import Client
from evalsite_client.cli import evaluate, following
from evalsite_client.cli.flags import plan_from_flags
from evalsite_client.cli.main import build_parser
from evalsite_client.cli.show import Answer
from evalsite_client.errors import NotAllowedError
from evalsite_client.tests.commands import Evalsite, ok
from matches.ledger import planning
from matches.models import Agent, Leaderboard, Match, Tournament
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import later

# Committed rows would stay: what is refused must not have been stored at all.
pytestmark = pytest.mark.django_db(transaction=True)

CONNECT_FOUR = "--game connect_four"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("--game poker", "connect_four"),
        ("--game conect_four", "did you mean connect_four?"),
        (f"{CONNECT_FOUR} --agents random,alphbeta:3", "did you mean alphabeta:3?"),
        (f"{CONNECT_FOUR} --agents random,x", "no registered agent of connect_four"),
        (f"{CONNECT_FOUR} --agents random,x.safetensors", "there is no file 'x.safetensors'"),
        (
            "--leaderboard mine",
            "there is none named 'mine', nor any other; to open it: evalsite open mine --game",
        ),
        ("--pairing lottery", "double_round_robin"),
        (CONNECT_FOUR, "needs --agents"),
        (f"{CONNECT_FOUR} --agents random", "needs 2 agents"),
        (f"{CONNECT_FOUR} --agents random,random", "self-play"),
        (f"{CONNECT_FOUR} --agents random,luck", "alphabeta"),
        (f"{CONNECT_FOUR} --agents random,alphabeta:99", "99"),
        (f"{CONNECT_FOUR} --agents random,alphabeta:deep", "deep"),
        (f"{CONNECT_FOUR} --agents random,mcts:simulation=5", "simulations"),
        (f"{CONNECT_FOUR} --agents random,", "agents.1: This field may not be blank"),
        (f"{CONNECT_FOUR} --agents random,level:3", "connect_four"),
        ("--game leduc_poker --agents random,mcts:5", "leduc_poker"),
        ("--game kuhn_poker_3 --agents random,random:1", "random"),
        ("--num-agents 1", "--num-agents"),
        ("--num-matches -5", "-5"),
        ("--num-matches x", "'x'"),
        ("--error-rate 2", "2"),
        ("--error-rate nan", "nan"),
        ("--error-rate .6 --hang-rate .6", "add up"),
        ("--move-s 0", "--move-s"),
        ("--timeout -1", "--timeout"),
        ("--finish-fraction 1.5", "1.5"),
        ("--json /nowhere/report.json", "/nowhere/report.json"),
        ("--game-parameter duration_s=soon", "soon"),
        ("--game-parameter speed=1", "speed"),
        ("--game-parameter speed", "NAME=VALUE"),
        ("--charge nobody", "nobody"),
    ],
)
def test_it_refuses_bad_input_naming_the_value_once(
    evalsite: Evalsite, arguments: str, wanted: str
) -> None:
    status, _, complaint = evalsite("evaluate", *arguments.split())
    assert status == 2
    assert wanted in complaint
    assert complaint.count("evalsite: ") <= 1
    assert not Agent.objects.exists()
    assert not Leaderboard.objects.exists()
    assert not Tournament.objects.exists()


def test_without_a_play_node_it_says_what_to_start(
    evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following.wait_for_cluster, "__kwdefaults__", {"limit_s": 0.0})
    status, _, complaint = evalsite("evaluate")
    assert status == 2
    assert "./run up" in complaint
    assert not Tournament.objects.exists()


def test_agents_join_a_standing_board_and_rules_of_their_own_are_refused(
    evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    evalsite("open", "mine", "--game", "connect_four")
    monkeypatch.setattr(following.wait_for_cluster, "__kwdefaults__", {"limit_s": 0.0})
    agents = ("--agents", "random,greedy", "-l", "mine")
    assert "play node" in evalsite("evaluate", "--game", "connect_four", *agents)[2]
    assert "'mine' is of connect_four" in evalsite("evaluate", "--game", "hex", *agents)[2]


@pytest.fixture
def client(evalsite: Evalsite) -> Iterator[Client]:
    with Client() as one:
        yield one


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament of which 20 of 40 matches were played and rated."""
    tournament = factories.planned(40, move_s=2.0)
    boards.play_some(tournament, 20, factories.first_wins)
    rater.rate(tournament.leaderboard_id, now=later(1))
    return tournament


def followed(client: Client, tournament: Tournament, json_file: Path | bool = False) -> Answer:
    given = {"timeout": None, "finish_fraction": 1.0, "agents": ["a"], "json": json_file}
    return evaluate._follow_evaluation(client, tournament.pk, Namespace(**given))


def stop_at_once(*_: object, **__: object) -> float:
    raise KeyboardInterrupt


def test_stopped_it_prints_the_table_and_writes_the_json(
    client: Client, played: Tournament, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    path = tmp_path / "report.json"
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    ended = followed(client, played, path)
    assert ended.status == 130
    assert ended.complaint.startswith("interrupted after 20 of 40 matches; to go on")
    assert "evalsite schedule -l board --matches 40" in ended.complaint
    assert "--move-s 2 " in ended.complaint
    assert ended.complaint.endswith("level:10 level:50 level:90")
    printed = capsys.readouterr().out
    assert "Completed 20 of which forfeits 0" in printed
    assert "level:90" in printed
    report = json.loads(path.read_text())
    assert (report["completed"], report["cancelled"], len(report["ratings"])) == (20, 20, 3)


def test_a_token_that_may_not_cancel_is_enough_to_read_what_was_played(
    client: Client, played: Tournament, monkeypatch: Any, capsys: Any
) -> None:
    def refuse(*_: object) -> None:
        raise NotAllowedError(403, "Forbidden", "the token lacks the scope 'operate'")

    monkeypatch.setattr(type(client.tournaments), "cancel", refuse)
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    followed(client, played)
    printed = capsys.readouterr().out
    assert "the rest goes on, as it cannot be cancelled: the token lacks the scope" in printed
    assert "Completed 20 of which forfeits 0" in printed
    Match.objects.filter(tournament=played).exclude(state="done").delete()
    Tournament.objects.update(n_matches=20)
    followed(client, played)
    printed = capsys.readouterr().out
    assert "cannot be cancelled" not in printed
    assert "Completed 20 of which forfeits 0" in printed


def test_its_json_holds_all_that_the_table_shows(
    client: Client, played: Tournament, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    value = followed(client, played, json_file=True).value
    shown = capsys.readouterr().err
    for row in value["ratings"]:
        line = next(line for line in shown.splitlines() if f" {row['agent']} " in line)
        numbers = [f"{row[name]:.2f}" for name in ("mu", "low", "high", "live_mu")]
        record = f"{row['wins']}/{row['draws']}/{row['losses']}"
        counts = [f"{row['rank']}", f"{row['games']}", record, f"{row['forfeits']}"]
        assert {*numbers, *counts} <= set(line.split())


def stopped_evaluation(client: Client, **plan: Any) -> Answer:
    """Return what an evaluation says that is stopped after 20 of its 40 matches."""
    agents = ["level:10", "level:50", "level:90"]
    started = client.evaluations.create(game="skill_game", agents=agents, n_matches=40, **plan)
    tournament = Tournament.objects.get(pk=started.tournament)
    planning.plan_tournament(tournament, now=later(0))
    boards.play_some(tournament, 20, factories.first_wins)
    rater.rate(tournament.leaderboard_id, now=later(1))
    return followed(client, tournament)


def test_what_was_stopped_is_gone_on_with_by_the_command_that_it_names(
    evalsite: Evalsite, client: Client, monkeypatch: Any
) -> None:
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    complaint = stopped_evaluation(client, move_s=2.0, seed=31).complaint
    said, _, command = complaint.partition(": evalsite ")
    assert said.endswith("to go on, which plays only what is missing")
    ok(evalsite(*shlex.split(command)))
    again = Tournament.objects.latest("pk")
    planning.plan_tournament(again, now=later(2))
    states = list(Match.objects.filter(tournament=again).values_list("state", flat=True))
    assert (states.count("done"), states.count("pending")) == (20, 20)


def test_where_trajectories_are_stored_going_on_says_that_it_plays_all(
    client: Client, broker: Redis, monkeypatch: Any
) -> None:
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    complaint = stopped_evaluation(client, keeps_trajectories=True).complaint
    assert "to go on, which plays all again for their trajectories: evalsite" in complaint


def test_the_command_to_go_on_has_every_option_of_the_tournament(
    client: Client, played: Tournament, monkeypatch: Any
) -> None:
    monkeypatch.setattr(following, "follow_tournament", stop_at_once)
    asked = {"pairing_parameters": {"best_of": 5}, "weight": 3, "order_limit": 7, "seed": 9}
    Tournament.objects.filter(pk=played.pk).update(
        **asked, keeps_trajectories=True, trajectory_days=4
    )
    printed = followed(client, played).complaint.partition("evalsite schedule ")[2]
    given = build_parser().parse_args(["schedule", *shlex.split(printed)])
    plan = plan_from_flags(given)
    kept = {"n_matches": 40, "move_s": 2.0, "keeps_trajectories": True, "trajectory_days": 4}
    assert plan == {**asked, **kept, "name": ""}
    assert given.agents == ["level:10", "level:50", "level:90"]


def test_where_nothing_counted_it_ends_with_1_and_says_why(
    client: Client, broker: Redis, monkeypatch: Any, capsys: Any, tmp_path: Path
) -> None:
    tournament = factories.planned(4)

    def fails(row: MatchOrderRow) -> ResultRow:
        failed = factories.result(row, ending=Ending.FAILED, reason=Reason.ERROR)
        detail = "unknown game 'nim': choose one of chess"
        return msgspec.structs.replace(failed, detail=detail)

    for turn in range(6):
        if Match.objects.filter(tournament=tournament, state="pending").exists():
            boards.play_some(tournament, 4, fails, now=later(turn))
    monkeypatch.setattr(following, "follow_tournament", lambda *_, **__: None)
    ended = followed(client, tournament, tmp_path / "r.json")
    assert ended.status == 1
    assert ended.complaint.startswith("nothing counted: ")
    assert "unknown game 'nim'" in ended.complaint
    assert json.loads((tmp_path / "r.json").read_text())["failure_details"]
    assert "unknown game 'nim'" in capsys.readouterr().out


def test_held_back_by_control_it_ends_with_the_problem(client: Client, broker: Redis) -> None:
    tournament = factories.scheduled(4)
    problem = "held back, game: unknown game 'nim': EVALSITE_PLUGINS must name its folder"
    Tournament.objects.filter(pk=tournament.pk).update(problem=problem)
    ended = followed(client, tournament)
    assert ended.status == 1
    assert ended.complaint.startswith("nothing counted: held back, game: unknown")
    tournament.refresh_from_db()
    assert tournament.state == Tournament.State.CANCELLED
