"""Files of checkpoints as agents: sent once, and the same agent whenever they are named again."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from arena.checkpoints import Seal, write_sealed
from arena.games import registry as games
from evalsite_client import Client, Clock, ProblemError
from evalsite_client.cli import following, gates
from evalsite_client.cli.spelled import upload_files
from evalsite_client.errors import InputError
from evalsite_client.tests.commands import Evalsite, as_json
from matches.models import Agent, Checkpoint
from matches.tests.weights import GAME, verdict, weights

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(evalsite: Evalsite) -> Iterator[Client]:
    """Return a client while whose waits every check passes."""
    with Client(clock=Clock(sleep=lambda _: _pass_checks())) as one:
        yield one


@pytest.fixture
def file(tmp_path: Path) -> Path:
    spec = games.get(GAME).spec
    seal = Seal("mlp", {}, GAME, spec.observation_shape, spec.n_actions)
    path = tmp_path / "run" / "step_20.safetensors"
    write_sealed(weights(tmp_path / "run" / "plain"), path, seal)
    return path


def _pass_checks() -> None:
    for row in Checkpoint.objects.filter(state=Checkpoint.State.CHECKING):
        verdict(row)


def _name(client: Client, path: Path, game: str = GAME) -> str:
    (name,) = upload_files(client, [str(path)], game=game, out=io.StringIO())
    return name


def test_a_file_that_is_named_again_is_the_agent_that_it_became(client: Client, file: Path) -> None:
    copy = file.with_name("other.safetensors")
    copy.write_bytes(file.read_bytes())
    assert [_name(client, file), _name(client, file, ""), _name(client, copy)] == ["run@20"] * 3
    assert Agent.objects.get().checkpoint == Checkpoint.objects.get()


def test_a_file_whose_agent_has_a_newer_version_is_that_one(client: Client, file: Path) -> None:
    name = _name(client, file)
    old = Agent.objects.get()
    old.name, old.is_retired = f"{name} (version 1)", True
    old.save()
    new = Agent(game=GAME, name=name, policy=old.policy, checkpoint=old.checkpoint)
    new.save()
    Agent.objects.filter(pk=old.pk).update(newer=new)
    assert _name(client, file) == name


def test_the_check_of_a_file_that_was_sent_before_is_waited_for(client: Client, file: Path) -> None:
    client.checkpoints.upload(file, name="mine")
    assert _name(client, file) == "mine"
    assert Checkpoint.objects.get().state == Checkpoint.State.READY


def test_a_file_of_another_game_is_refused_by_what_it_is_sealed_with(
    client: Client, file: Path
) -> None:
    _name(client, file)
    with pytest.raises(ProblemError, match="already sealed with game"):
        _name(client, file, "hex")


def test_a_file_that_was_refused_is_checked_once_more(client: Client, file: Path) -> None:
    client.checkpoints.upload(file, name="run", step=20)
    verdict(Checkpoint.objects.get(), refusal="it holds NaN")
    assert _name(client, file) == "run@20"
    assert Checkpoint.objects.get().state == Checkpoint.State.READY


def test_what_is_refused_while_it_is_waited_for_says_why(evalsite: Evalsite, file: Path) -> None:
    def refuse(_: float) -> None:
        verdict(Checkpoint.objects.get(), refusal="it holds NaN")

    with Client(clock=Clock(sleep=refuse)) as one:
        one.checkpoints.upload(file, name="mine")
        with pytest.raises(InputError, match=r"agents: .*step_20.*: refused: it holds NaN"):
            _name(one, file)


def test_a_gate_of_a_file_that_is_asked_again_goes_on(
    evalsite: Evalsite, broker: Redis, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "evalsite_client.client.Clock", lambda: Clock(sleep=lambda _: _pass_checks())
    )
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(gates, "wait_for_gate", lambda *_: None)
    pair = ("--candidate", file, "--baseline", "greedy", "--game", GAME)
    results = [evalsite("gate", *pair, "--max-matches", 10, "--json") for _ in range(2)]
    assert [status for status, *_ in results] == [gates.EXIT["UNDECIDED"]] * 2, results
    first, again = (as_json((0, out, "")) for _, out, _ in results)
    assert again["tournament"] == first["tournament"]
    assert again["candidate"] == "run@20"
