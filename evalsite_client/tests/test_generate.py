"""`evalsite generate` refuses bad input, goes on where it stopped, and says what lacks."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from arena.messages import Alive
from evalsite_client import generation
from evalsite_client.cli import generate
from evalsite_client.errors import InputError
from evalsite_client.generation import Collection
from evalsite_client.tests.commands import Evalsite, ok
from matches.ledger import node_presence, planning
from matches.ledger.tournaments import cancel_tournament, extend_tournament
from matches.models import Agent, Leaderboard, Rating, Tournament, TrajectoryPiece, Worker
from matches.store import blobs
from matches.store.clock import db_now
from matches.tests import factories as make
from matches.tests import pieces

# Committed rows would stay: what is refused must not have been stored at all.
pytestmark = pytest.mark.django_db(transaction=True)

LEVELS = "--agent-a level:10 --agent-b level:50 --game skill_game"
RUN = f"{LEVELS} --matches 8 --matches-per-shard 4"
FETCH = Collection.fetch_ready


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "WORKER_WAIT_S", 0.0)
    monkeypatch.setattr(generate, "POLL_S", 0.0)


def _node_of_now() -> None:
    """Let a node report by the clock that the server reads."""
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
def played(evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Play so many matches before each look of the command, as control and a node would."""
    _node_of_now()
    per_look = [100]

    def play_and_fetch(collection: Collection) -> object:
        tournament = Tournament.objects.get()
        planning.plan_tournament(tournament, now=make.NOW)
        if tournament.matches.filter(state="pending").exists():
            pieces.play(tournament, per_look[0])
        return FETCH(collection)

    monkeypatch.setattr(Collection, "fetch_ready", play_and_fetch)
    return per_look


def _run(evalsite: Evalsite, arguments: str, out: Path) -> tuple[int, str, str]:
    return evalsite("generate", *arguments.split(), "--out", out)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ("--matches 5", "agent_a: is missing"),
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
    evalsite: Evalsite, tmp_path: Path, arguments: str, refusal: str
) -> None:
    status, _, complaint = _run(evalsite, arguments, tmp_path / "out")
    assert status == 2
    assert refusal in complaint
    assert not Agent.objects.exists()
    assert not Leaderboard.objects.exists()
    assert not Tournament.objects.exists()
    assert not (tmp_path / "out").exists()


def test_ctrl_c_before_anything_plays_is_an_end_too(
    evalsite: Evalsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(generation, "open_run", interrupt)
    status, _, complaint = _run(evalsite, RUN, tmp_path / "out")
    assert (status, "the same command" in complaint) == (130, True)


def test_without_nodes_and_room_it_names_both(evalsite: Evalsite, tmp_path: Path) -> None:
    matches = "--agent-a random --agent-b greedy --game chess --matches 100000000"
    status, _, complaint = _run(evalsite, matches, tmp_path / "out")
    assert status == 2
    for words in ("nothing was started", "a play node with cpu", "room in"):
        assert words in complaint
    assert not Tournament.objects.exists()
    assert list((tmp_path / "out").iterdir()) == []


def test_it_says_what_it_waits_for(evalsite: Evalsite, tmp_path: Path) -> None:
    _, _, printed = _run(evalsite, RUN, tmp_path / "out")
    assert printed.startswith("waiting up to 0 s for a play node with cpu")


def test_it_writes_shards_and_a_manifest_and_rates_nobody(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    printed = ok(_run(evalsite, RUN, out))
    names = ["shard-00000.parquet", "shard-00001.parquet"]
    assert {path.name for path in out.iterdir()} == {"run.json", "manifest.json", *names}
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["matches"], manifest["illegal_actions"]) == (8, 0)
    for shard, name in zip(manifest["shards"], names, strict=True):
        assert shard["file"] == name
        assert shard["sha256"] == sha256((out / name).read_bytes()).hexdigest()
    assert not Rating.objects.exists()
    assert not Leaderboard.objects.get().is_listed
    assert f"plays for {out}, unrated" in printed
    assert "8 matches, 16 steps" in printed
    assert "level:50 at seat 0: 4 wins, 0 draws, 0 losses" in printed
    assert "manifest.json names 2 shard(s)" in printed


def test_the_manifest_has_the_form_that_readers_know(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    ok(_run(evalsite, RUN, tmp_path))
    text = (tmp_path / "manifest.json").read_text()
    manifest = json.loads(text)
    assert text == f"{json.dumps(manifest, indent=2)}\n"
    assert " ".join(manifest) == (
        "format is_complete game game_parameters rules_version opening_plies seed is_self_play "
        "agents matches matches_without_outcome forfeits illegal_actions steps trajectories "
        "observation_shape n_actions schema versions shards"
    )
    assert " ".join(manifest["shards"][0]) == (
        "file sha256 matches rows first_episode last_episode"
    )
    assert " ".join(manifest["agents"][0]) == (
        "name policy parameters checkpoint architecture run step seats"
    )
    assert manifest["agents"][0]["parameters"] == {"level": 10}
    assert manifest["agents"][0]["seats"]["0"] == {"wins": 0, "draws": 0, "losses": 4}


@pytest.mark.parametrize(
    ("forfeits", "mean", "spread", "summary"),
    [
        (0, 22.25, 8.1234567, "4 episodes, mean return 22.25 (standard deviation 8.123)"),
        (3, 0.5, None, "4 episodes, 3 of them forfeited, mean return 0.5"),
        (4, None, None, "4 episodes, 4 of them forfeited"),
    ],
)
def test_of_one_seat_returns_are_told_and_nobody_wins(
    forfeits: int, mean: float | None, spread: float | None, summary: str
) -> None:
    names = ("steps", "matches", "forfeits", "illegal_actions", "matches_without_outcome")
    counts = {"episodes": 4, "forfeits": forfeits, "mean_return": mean, "return_sd": spread}
    manifest = {**dict.fromkeys(names, 0), "agents": [{"name": "random", "seats": {"0": counts}}]}
    _, line = generation.summarise(manifest, elapsed_s=1.0)
    assert line == f"  random: {summary}"


def test_the_same_command_goes_on_with_what_is_there(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    played[0] = 5

    def interrupt(collection: Collection) -> object:
        tournament = Tournament.objects.get()
        planning.plan_tournament(tournament, now=make.NOW)
        pieces.play(tournament, 5)
        FETCH(collection)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collection, "fetch_ready", interrupt)
        status, printed, complaint = _run(evalsite, RUN, tmp_path)
    assert (status, "go on being played" in complaint) == (130, True)
    assert "1 whole shard(s) are in" in printed
    partial = json.loads((tmp_path / "manifest.json").read_text())
    assert (partial["is_complete"], partial["matches"], len(partial["shards"])) == (False, 4, 1)
    before = (tmp_path / "shard-00000.parquet").stat().st_mtime_ns
    ok(_run(evalsite, RUN, tmp_path))
    assert Tournament.objects.count() == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["is_complete"]
    assert (tmp_path / "shard-00000.parquet").stat().st_mtime_ns == before


def test_a_spoiled_shard_is_fetched_again(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    ok(_run(evalsite, RUN, tmp_path))
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "shard-00001.parquet").write_bytes(b"spoiled")
    ok(_run(evalsite, RUN, tmp_path))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        (RUN.replace("--matches 8", "--matches 9"), "matches was 8, now 9"),
        (f"{RUN} --seed 4", "seed was 0, now 4"),
        (RUN.replace("level:50", "level:51"), "agents was"),
    ],
)
def test_a_folder_is_of_one_run_only(
    evalsite: Evalsite, played: list[int], tmp_path: Path, changed: str, refusal: str
) -> None:
    ok(_run(evalsite, RUN, tmp_path))
    status, _, complaint = _run(evalsite, changed, tmp_path)
    assert (status, refusal in complaint) == (2, True)
    assert Tournament.objects.count() == 1


def test_the_number_of_workers_may_change(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    ok(_run(evalsite, RUN, tmp_path))
    ok(_run(evalsite, f"{RUN} --num-workers 4", tmp_path))
    assert Tournament.objects.get().order_limit == 2


def test_a_folder_that_is_not_for_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        generation.open_run(tmp_path, {})
    with pytest.raises(InputError, match="cannot write"):
        generation.open_run(tmp_path / "thesis.txt" / "out", {})
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InputError, match="cannot be read"):
        generation.open_run(tmp_path, {})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"shards": 1}', '{"shards": [{"file": 1}]}'])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json"):
        generation.read_shards(tmp_path)


def test_a_cancelled_run_ends_with_its_reason(
    evalsite: Evalsite, played: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(collection: Collection) -> object:
        Tournament.objects.update(state=Tournament.State.CANCELLED, problem="no luck")
        return FETCH(collection)

    monkeypatch.setattr(Collection, "fetch_ready", cancel)
    status, _, complaint = _run(evalsite, RUN, tmp_path)
    assert (status, "cancelled: no luck" in complaint) == (1, True)


def test_a_stored_tournament_is_fetched(evalsite: Evalsite, tmp_path: Path) -> None:
    make.alive()
    tournament = make.planned(6, agents=("level:10", "level:50"), keeps_trajectories=True)
    pieces.play(tournament)
    arguments = f"--tournament {tournament.pk}"
    ok(_run(evalsite, arguments, tmp_path / "out"))
    ok(_run(evalsite, arguments, tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["matches"] == 6
    assert _run(evalsite, f"{arguments} --matches-per-shard 3", tmp_path / "out")[0] == 2
    for piece in TrajectoryPiece.objects.all():
        blobs.delete_file(piece.path, storage="trajectories")
    status, _, complaint = _run(evalsite, arguments, tmp_path / "late")
    assert (status, "are gone" in complaint) == (1, True)
    Tournament.objects.update(keeps_trajectories=False)
    status, _, complaint = _run(evalsite, arguments, tmp_path / "none")
    assert (status, "that keeps trajectories" in complaint) == (2, True)


def test_a_shard_that_grew_by_an_extension_is_fetched_again(
    evalsite: Evalsite, tmp_path: Path
) -> None:
    make.alive()
    tournament = make.planned(6, agents=("level:10", "level:50"), keeps_trajectories=True)
    pieces.play(tournament)
    arguments = f"--tournament {tournament.pk} --matches-per-shard 4"
    ok(_run(evalsite, arguments, tmp_path))
    extend_tournament(tournament, 10)
    tournament.refresh_from_db()
    planning.plan_tournament(tournament, now=make.NOW)
    pieces.play(tournament)
    ok(_run(evalsite, arguments, tmp_path))
    shards = json.loads((tmp_path / "manifest.json").read_text())["shards"]
    spans = [(shard["first_episode"], shard["last_episode"]) for shard in shards]
    assert spans == [(0, 3), (4, 7), (8, 9)]


def test_what_was_cancelled_when_all_was_planned_is_not_complete(
    evalsite: Evalsite, tmp_path: Path
) -> None:
    make.alive()
    tournament = make.planned(8, agents=("level:10", "level:50"), keeps_trajectories=True)
    pieces.play(tournament, 3)
    cancel_tournament(tournament, now=make.NOW)
    status, _, complaint = _run(evalsite, f"--tournament {tournament.pk}", tmp_path)
    assert (status, "was cancelled" in complaint) == (1, True)
    assert not json.loads((tmp_path / "manifest.json").read_text())["is_complete"]


def test_what_was_played_is_fetched_without_a_node(
    evalsite: Evalsite, played: list[int], tmp_path: Path
) -> None:
    ok(_run(evalsite, RUN, tmp_path))
    (tmp_path / "shard-00001.parquet").unlink()
    Worker.objects.all().delete()
    ok(_run(evalsite, RUN, tmp_path))
    assert (tmp_path / "shard-00001.parquet").is_file()
