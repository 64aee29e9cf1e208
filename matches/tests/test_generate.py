"""`generate` refuses bad input with exit code 2, goes on where it stopped, and says what lacks."""

import json
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from arena.messages import Alive
from matches import dispatch
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger import generation, node_presence, planning
from matches.ledger.generation import Generation, Side
from matches.management import generating
from matches.management.commands.generate import Command
from matches.models import Agent, Leaderboard, Match, Rating, Tournament
from matches.plans import TournamentPlan
from matches.store.clock import db_now
from matches.tests import factories as make
from matches.tests import pieces
from matches.tests.weights import added, verdict

# Committed rows would stay: what is refused must not have been stored at all.
pytestmark = pytest.mark.django_db(transaction=True)

LEVELS = "--agent-a level:10 --agent-b level:50 --game skill_game"
COLLECT = generating.collect_shards
RUN = f"{LEVELS} --matches 8 --matches-per-shard 4"


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generating, "NODE_WAIT_S", 0.0)
    monkeypatch.setattr(generating, "_check_site", lambda url: [])


def _run(arguments: str, out: Path) -> int:
    command = ["manage.py", "generate", *arguments.split(), "--out", str(out)]
    try:
        Command().run_from_argv(command)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _node_of_now() -> None:
    """Let a node report by the clock that the command reads."""
    report = Alive(
        node="node-1",
        incarnation="life",
        slots=1,
        capabilities=["cpu"],
        versions={},
        orders=[],
        key="",
    )
    node_presence.note_alive(report, now=db_now())


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, broker: Redis) -> list[int]:
    """Play so many matches at each poll of the command, as control and a node would."""
    _node_of_now()
    per_poll = [100]

    def poll(seconds: float) -> None:
        tournament = Tournament.objects.get()
        planning.plan_tournament(tournament, now=make.NOW)
        pieces.play(tournament, per_poll[0])

    monkeypatch.setattr(generating, "collect_shards", partial(COLLECT, sleep=poll))
    return per_poll


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("--matches 5", "agent-a: is missing"),
        (f"{LEVELS}", "matches: is missing"),
        (f"{LEVELS} --num-workers 3", "--matches-per-worker"),
        (f"{LEVELS} --matches 7 --num-workers 3 --matches-per-worker 2", "3 workers x 2"),
        (f"{LEVELS} --num-workers 99999 --matches-per-worker 99999", "over 100000000"),
        (f"{LEVELS} --matches 0", "--matches"),
        (f"{LEVELS} --matches 5 --batch-size 32", "EVALSITE_MAX_BATCH_SIZE=32"),
        (f"{LEVELS} --matches 5 --timeout-ms 50", "EVALSITE_MAX_WAIT_MS=50"),
        ("--agent-a level:10 --matches 5 --checkpoint-b 3", "needs --agent-b"),
        ("--agent-a luck --matches 5", "no agent 'luck'"),
        ("--agent-a level:10 --agent-b luck --matches 5", "no agent 'luck'"),
        ("--agent-a random --matches 5", "say which"),
        ("--agent-a random --game poker --matches 5", "connect_four"),
        ("--agent-a random --game leduc_poker --agent-b random:1 --matches 5", "random"),
        ("--agent-a random --checkpoint-a 5 --game chess --matches 5", "no agent 'random'"),
        ("--agent-a level:10 --game connect_four --matches 5", "connect_four"),
        ("--agent-a mcts:5 --agent-b random --game leduc_poker --matches 5", "mcts"),
        ("--agent-a random --agent-b greedy --game kuhn_poker_3 --matches 5", "3 seats"),
        ("--agent-a random --game chess --matches 5 --game-parameter speed=1", "speed"),
        (f"{LEVELS} --matches 5 --opening-plies 2", "opening_plies"),
        (f"{LEVELS} --matches 5 --seed -1", "--seed"),
        ("--tournament 99", "no tournament 99"),
        ("--tournament 99 --matches 5", "does not go with --tournament"),
    ],
)
def test_it_refuses_bad_input_naming_the_value(
    broker: Redis, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, wanted: str
) -> None:
    assert _run(arguments, tmp_path / "out") == 2
    assert wanted in capsys.readouterr().err
    assert not Agent.objects.exists()
    assert not Leaderboard.objects.exists()
    assert not Tournament.objects.exists()
    assert not (tmp_path / "out").exists()


def test_ctrl_c_before_anything_plays_is_an_end_too(
    broker: Redis,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(generation, "check_generation", interrupt)
    assert _run(RUN, tmp_path / "out") == 130
    assert "the same command" in capsys.readouterr().err


def test_without_nodes_web_server_and_room_it_names_all_three(
    broker: Redis,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = ["the web server at http://nowhere is away"]
    monkeypatch.setattr(generating, "_check_site", lambda url: away)
    matches = "--agent-a random --agent-b greedy --game chess --matches 100000000"
    assert _run(matches, tmp_path / "out") == 2
    said = capsys.readouterr().err
    for words in ("a play node with cpu", "the web server", "room in"):
        assert words in said
    assert not Tournament.objects.exists()


def test_a_site_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (found,) = generating._check_site("http://127.0.0.1:9")
    assert "http://127.0.0.1:9" in found
    assert "EVALSITE_SITE_URL" in found


def test_it_writes_shards_and_a_manifest_and_rates_nobody(
    played: list[int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(RUN, tmp_path / "out") == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    shards = {"shard-00000.parquet", "shard-00001.parquet"}
    assert names == {"run.json", "manifest.json", *shards}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["matches"], manifest["illegal_actions"]) == (8, 0)
    assert not Rating.objects.exists()
    board = Leaderboard.objects.get()
    assert (board.is_rated, board.is_listed) == (False, False)
    assert "8 matches, 16 steps" in capsys.readouterr().out


def test_the_same_command_goes_on_with_what_is_there(
    played: list[int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    played[0] = 5

    def interrupt(seconds: float) -> None:
        if Tournament.objects.get().n_done:
            raise KeyboardInterrupt
        planning.plan_tournament(Tournament.objects.get(), now=make.NOW)
        pieces.play(Tournament.objects.get(), 5)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating, "collect_shards", partial(COLLECT, sleep=interrupt))
        assert _run(RUN, tmp_path) == 130
    assert "go on being played" in capsys.readouterr().err
    assert _run(RUN, tmp_path) == 0
    assert Tournament.objects.count() == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["is_complete"]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (RUN.replace("--matches 8", "--matches 9"), "matches was 8, now 9"),
        (f"{RUN} --seed 4", "seed was 0, now 4"),
        (RUN.replace("level:50", "level:51"), "agents was"),
    ],
)
def test_a_folder_is_of_one_run_only(
    played: list[int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    changed: str,
    wanted: str,
) -> None:
    assert _run(RUN, tmp_path) == 0
    assert _run(changed, tmp_path) == 2
    assert wanted in capsys.readouterr().err
    assert Tournament.objects.count() == 1


def test_the_number_of_workers_may_change(played: list[int], tmp_path: Path) -> None:
    assert _run(RUN, tmp_path) == 0
    assert _run(f"{RUN} --num-workers 4", tmp_path) == 0
    assert Tournament.objects.get().order_limit == 2


def test_a_folder_with_other_files_is_refused(
    broker: Redis, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert _run(RUN, tmp_path) == 2
    assert "thesis.txt" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused(
    broker: Redis, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    assert _run(RUN, tmp_path / "file" / "out") == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_run_file_that_is_none_is_refused(
    broker: Redis, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text("[]")
    assert _run(RUN, tmp_path) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_cancelled_run_ends_with_its_reason(
    played: list[int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cancel(seconds: float) -> None:
        Tournament.objects.update(state=Tournament.State.CANCELLED, problem="no luck")

    monkeypatch.setattr(generating, "collect_shards", partial(COLLECT, sleep=cancel))
    assert _run(RUN, tmp_path) == 1
    assert "cancelled: no luck" in capsys.readouterr().err


def test_a_stored_tournament_is_exported(played: list[int], tmp_path: Path) -> None:
    tournament = make.planned(6, keeps_trajectories=True)
    pieces.play(tournament)
    arguments = f"--tournament {tournament.pk}"
    assert _run(arguments, tmp_path) == 0
    assert _run(arguments, tmp_path) == 0
    assert json.loads((tmp_path / "manifest.json").read_text())["matches"] == 6
    assert _run(f"{arguments} --matches-per-shard 3", tmp_path) == 2


# Whom a name means


def _agents(*sides: Side, game: str = "") -> list[str]:
    plan = TournamentPlan(name="x", n_matches=4, is_rated=False, keeps_trajectories=True)
    return [a.name for a in generation.find_agents(Generation(sides, plan, game))]


def test_a_stored_agent_tells_the_game(broker: Redis) -> None:
    register_spelled_agent("random", game="chess")
    assert _agents(Side("random")) == ["random"]
    assert _agents(Side("random"), Side("greedy", field="agent-b")) == ["random", "greedy"]


def test_the_same_agent_twice_is_self_play(broker: Redis) -> None:
    sides = (Side("random"), Side("random", field="agent-b"))
    assert _agents(*sides, game="chess") == ["random"]


def test_agents_without_a_common_game_are_refused(broker: Redis) -> None:
    register_spelled_agent("random", game="chess")
    register_spelled_agent("greedy", game="othello")
    with pytest.raises(BadInputError, match="no game in common"):
        _agents(Side("random"), Side("greedy", field="agent-b"))


def test_names_that_are_near_are_offered(broker: Redis) -> None:
    register_spelled_agent("alphabeta:4", game="chess")
    with pytest.raises(BadInputError, match="did you mean alphabeta:4"):
        _agents(Side("alphabet:4"))


def test_a_step_or_hash_names_a_checkpoint_of_a_run(broker: Redis, tmp_path: Path) -> None:
    rows = [added(tmp_path, "run", seed=step, step=step) for step in (10, 20)]
    for agent in rows:
        verdict(agent.checkpoint)
    assert _agents(Side("run", "20")) == ["run@20"]
    assert rows[0].checkpoint is not None
    assert _agents(Side("run", rows[0].checkpoint.sha256[:10])) == ["run@10"]
    assert _agents(Side("run@10")) == ["run@10"]
    with pytest.raises(BadInputError, match="there are the steps 10, 20"):
        _agents(Side("run", "30"))
    with pytest.raises(BadInputError, match="there are the steps 10, 20"):
        _agents(Side("run", "last"))


def test_a_checkpoint_that_is_not_ready_is_refused(broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path, "run", step=10)
    with pytest.raises(BadInputError, match="being checked"):
        _agents(Side("run@10"))
    verdict(agent.checkpoint, refusal="NaN weights")
    with pytest.raises(BadInputError, match="refused: NaN weights"):
        _agents(Side("run@10"))


def test_a_gpu_worker_is_missed_where_one_is_needed(broker: Redis) -> None:
    lacking = generation.list_missing_workers(Match.Needs.CPU_AND_GPU, now=make.NOW)
    assert [words in text for words, text in zip(("cpu", "gpu"), lacking, strict=True)] == [
        *(True, True)
    ]
    make.alive()
    assert len(generation.list_missing_workers(Match.Needs.TORCH, now=make.NOW)) == 1
    assert generation.list_missing_workers(Match.Needs.CPU, now=make.NOW) == []


def test_runs_of_the_same_rules_share_a_board(played: list[int], tmp_path: Path) -> None:
    assert _run(RUN, tmp_path / "one") == 0
    Tournament.objects.update(state=Tournament.State.DONE)
    assert dispatch.ping_broker()
    plan = TournamentPlan(name="x", n_matches=4, is_rated=False, keeps_trajectories=True)
    sides = (Side("level:10"), Side("level:50", field="agent-b"))
    other = generation.start_generation(Generation(sides, plan, "skill_game"))
    assert other.leaderboard == Leaderboard.objects.get()
