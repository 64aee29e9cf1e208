"""`evaluate` refuses bad input with exit code 2, names the value, and stores nothing."""

import pytest
from redis import Redis

from matches.ledger.evaluation import drawn_levels
from matches.management.commands.evaluate import Command
from matches.models import Agent, Leaderboard, Tournament

# Committed rows would stay: what is refused must not have been stored at all.
pytestmark = pytest.mark.django_db(transaction=True)

CONNECT_FOUR = "--game connect_four"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("--game poker", "connect_four"),
        ("--pairing lottery", "double_round_robin"),
        (CONNECT_FOUR, "needs --agents"),
        (f"{CONNECT_FOUR} --agents random", "needs 2 agents"),
        (f"{CONNECT_FOUR} --agents random,random", "self-play"),
        (f"{CONNECT_FOUR} --agents random,luck", "alphabeta"),
        (f"{CONNECT_FOUR} --agents random,alphabeta:99", "99"),
        (f"{CONNECT_FOUR} --agents random,alphabeta:deep", "deep"),
        (f"{CONNECT_FOUR} --agents random,mcts:simulation=5", "simulations"),
        (f"{CONNECT_FOUR} --agents random,", "choose one of"),
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
def test_it_refuses_bad_input_naming_the_value(
    broker: Redis, capsys: pytest.CaptureFixture[str], arguments: str, wanted: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "evaluate", *arguments.split()])
    assert ended.value.code == 2
    assert wanted in capsys.readouterr().err
    assert not Agent.objects.exists()
    assert not Leaderboard.objects.exists()
    assert not Tournament.objects.exists()


def test_without_a_play_node_it_says_what_to_start(
    broker: Redis, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matches.management.following.NODE_WAIT_S", 0.0)
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "evaluate"])
    assert ended.value.code == 2
    assert "./run up" in capsys.readouterr().err
    assert not Tournament.objects.exists()


def test_levels_are_drawn_from_the_seed() -> None:
    assert drawn_levels(1, 50) == drawn_levels(1, 50)
    assert drawn_levels(1, 50) != drawn_levels(2, 50)
    assert set(drawn_levels(1, 5_000)) == set(range(100))
