"""Adding checkpoints: sealed, stored by hash, an agent each; what is refused leaves nothing."""

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import IntegrityError

from arena import checkpoints as files
from arena.policies.network_policy import NetworkPolicy
from matches.artifacts import agents, checkpoints
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint
from matches.models.validation import check_policy
from matches.store import blobs
from matches.tests.factories import NOW
from matches.tests.weights import GAME, added, new, verdict, weights

pytestmark = pytest.mark.django_db
Stored = Callable[[], list[str]]


def _header(claim: int, text: bytes = b"{}") -> bytes:
    return claim.to_bytes(8, "little") + text


def _torchscript(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/code/__torch__.py", "import os")
        archive.writestr("net/data.pkl", b"x")


def _lying(path: Path) -> None:
    tensor = {"dtype": "F32", "shape": [1000], "data_offsets": [0, 8]}
    text = json.dumps({"a": tensor}).encode()
    path.write_bytes(_header(len(text), text) + bytes(8))


def _truncated(path: Path) -> None:
    whole = weights(path).read_bytes()
    path.write_bytes(whole[:-10])


def _oversized(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)


BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pickle": (lambda path: path.write_bytes(pickle.dumps({"a": 1})), "a pickle"),
    "torchscript": (_torchscript, "a TorchScript archive"),
    "truncated": (_truncated, "truncated"),
    "oversized": (_oversized, "too large"),
    "lying": (_lying, "a lying header"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "text": (lambda path: path.write_text("hello, these are no weights"), "safetensors"),
}


def _nothing_is_stored(stored: Stored) -> bool:
    return not (stored() or Checkpoint.objects.exists() or Agent.objects.exists())


def test_a_file_is_sealed_and_stored_under_its_hash(tmp_path: Path, stored: Stored) -> None:
    agent = added(tmp_path, "run", step=7, parameters={"hidden": 64})
    row = Checkpoint.objects.get()
    assert stored() == [row.sha256]
    with blobs.open_file(row.path) or pytest.fail("not stored") as file:
        kept = Path(file.name or "")
        assert files.hash_file(kept) == row.sha256
        seal = files.inspect_file(kept).seal
    assert seal == files.Seal("mlp", {"hidden": 64}, GAME, (3, 6, 7), 7)
    assert (row.state, row.run, row.step, row.source_name) == (
        *("checking", "run", 7),
        "run-0.safetensors",
    )
    assert row.n_bytes == kept.stat().st_size
    assert (agent.name, agent.policy, agent.checkpoint_id) == ("run@7", "network", row.sha256)
    assert agent.parameters == {"temperature": 0.0}


def test_without_a_step_the_agent_has_the_name_alone(tmp_path: Path) -> None:
    assert added(tmp_path, "run").name == "run"


def test_a_sealed_file_says_itself_what_it_is(tmp_path: Path) -> None:
    seal = files.Seal("gru", {"hidden": 8}, GAME, (3, 6, 7), 7)
    plain, sealed = weights(tmp_path / "in" / "a"), tmp_path / "in" / "b.safetensors"
    sha256 = files.write_sealed(plain, sealed, seal)
    agent = checkpoints.add_checkpoint(sealed, checkpoints.New("mine"), now=NOW)
    row = Checkpoint.objects.get()
    assert (agent.checkpoint_id, row.sha256) == (sha256, sha256)
    assert (row.architecture, row.parameters, row.game) == ("gru", {"hidden": 8}, GAME)


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_no_checkpoint_is_refused_with_its_reason(
    tmp_path: Path, stored: Stored, kind: str
) -> None:
    write, words = BAD_FILES[kind]
    path = tmp_path / f"{kind}.pt"
    write(path)
    with pytest.raises(BadInputError, match=rf"file: {kind}\.pt: .*{words}") as error:
        checkpoints.add_checkpoint(path, new(), now=NOW)
    assert error.value.field == "file"
    assert _nothing_is_stored(stored)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"game": "poker"}, "game", "'poker': did you mean kuhn_poker.*connect_four"),
        ({"game": ""}, "game", "is not sealed: say which game"),
        ({"architecture": ""}, "architecture", "is not sealed: name its architecture"),
        ({"parameters": {"hidden": [1]}}, "parameters", r"parameter 'hidden' is \[1\]"),
        ({"parent": "nobody"}, "parent", "'nobody' is no SHA-256 .* no agent of connect_four"),
        ({"parent": "0" * 64}, "parent", "0000"),
        ({"placement": "moon"}, "placement", "'moon': choose local, gpu"),
        ({"step": -1}, "step", "-1: must be"),
        ({"expected_sha256": "0" * 64}, "sha256", "not 0000.*: send the file again"),
        ({"name": "x" * 101}, "name", "100"),
        ({"name": ""}, "name", "blank"),
        ({"name": "a\0b"}, "name", "printable"),
        ({"architecture": "a\0b"}, "architecture", "printable"),
    ],
)
def test_what_a_file_is_to_be_is_refused_naming_the_field(
    tmp_path: Path, stored: Stored, change: dict[str, object], field: str, words: str
) -> None:
    file = weights(tmp_path / "given" / "a.safetensors")
    with pytest.raises(BadInputError, match=words) as error:
        checkpoints.add_checkpoint(file, new(**({"name": "run"} | change)), now=NOW)  # type: ignore[arg-type]
    assert error.value.field == field
    assert _nothing_is_stored(stored)


def test_the_hash_of_the_file_that_was_meant_is_accepted(tmp_path: Path) -> None:
    file = weights(tmp_path / "given" / "a.safetensors")
    digest = files.hash_file(file).upper()
    assert checkpoints.add_checkpoint(file, new(expected_sha256=digest), now=NOW)


def test_another_seal_than_the_one_given_is_refused(tmp_path: Path, stored: Stored) -> None:
    seal = files.Seal("gru", {}, GAME, (3, 6, 7), 7)
    sealed = tmp_path / "in.safetensors"
    files.write_sealed(weights(tmp_path / "a"), sealed, seal)
    with pytest.raises(BadInputError, match="already sealed with architecture 'gru', not 'mlp'"):
        checkpoints.add_checkpoint(sealed, new(), now=NOW)
    assert _nothing_is_stored(stored)


def test_a_duplicate_says_which_agent_has_it(tmp_path: Path) -> None:
    added(tmp_path, "first")
    with pytest.raises(BadInputError, match="already that of agent 'first' of connect_four"):
        added(tmp_path, "second")
    assert Agent.objects.count() == 1


def test_a_name_that_is_taken_is_refused(tmp_path: Path, stored: Stored) -> None:
    agents.register_agent("run", game=GAME, policy="random")
    with pytest.raises(BadInputError, match="'run' is already an agent") as error:
        added(tmp_path, "run")
    assert error.value.field == "name"
    assert not stored()


def test_rows_that_cannot_be_written_take_their_file_along(
    tmp_path: Path, stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checkpoints, "_register_checkpoint", fail)
    with pytest.raises(ZeroDivisionError):
        added(tmp_path)
    assert not stored()


def test_of_two_that_add_the_same_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise IntegrityError("unique")

    monkeypatch.setattr(checkpoints, "_register_checkpoint", lose)
    with pytest.raises(BadInputError, match="at this moment: try again"):
        added(tmp_path)


def _run(folder: Path, *names: str) -> list[Agent]:
    for seed, name in enumerate(names):
        weights(folder / name, seed=seed)
    return checkpoints.add_run(checkpoints.read_run_folder(folder, new("ppo")), now=NOW)


def test_a_folder_is_a_run_in_the_order_of_its_steps(tmp_path: Path) -> None:
    names = ("step_200.safetensors", "step_1000.safetensors", "step_30.safetensors")
    run = _run(tmp_path / "run", *names)
    assert [agent.name for agent in run] == ["ppo@30", "ppo@200", "ppo@1000"]
    rows = [agent.checkpoint for agent in run]
    assert [row and row.parent_id for row in rows] == [
        None,
        *(row and row.sha256 for row in rows[:-1]),
    ]


def test_a_run_goes_on_from_the_agent_that_is_named(tmp_path: Path) -> None:
    first = added(tmp_path, "base", seed=9)
    weights(tmp_path / "run" / "step_1.safetensors")
    later = checkpoints.read_run_folder(tmp_path / "run", new("ppo", parent="base"))
    (agent,) = checkpoints.add_run(later, now=NOW)
    assert agent.checkpoint is not None
    assert agent.checkpoint.parent_id == first.checkpoint_id


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["final.safetensors"], "final.safetensors: the name tells no step"),
        (["a_5.safetensors", "b_5.safetensors"], "a_5.safetensors and .*b_5.* both of step 5"),
        ([], "it holds no .*convert"),
    ],
)
def test_a_folder_whose_steps_are_not_clear_is_refused(
    tmp_path: Path, names: list[str], words: str
) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(BadInputError, match=words):
        _run(tmp_path / "run", *names)


def test_one_bad_file_of_a_run_stores_none(tmp_path: Path, stored: Stored) -> None:
    folder = tmp_path / "run"
    weights(folder / "step_1.safetensors")
    _truncated(folder / "step_2.safetensors")
    with pytest.raises(BadInputError, match=r"file: step_2\.safetensors: truncated"):
        _run(folder)
    assert _nothing_is_stored(stored)


def test_two_files_of_one_content_are_refused(tmp_path: Path, stored: Stored) -> None:
    for step in (1, 2):
        weights(tmp_path / "run" / f"step_{step}.safetensors", seed=0)
    with pytest.raises(BadInputError, match=r"step_1.* and step_2.* hold the same checkpoint"):
        _run(tmp_path / "run")
    assert _nothing_is_stored(stored)


def test_a_refused_agent_may_be_given_other_weights(tmp_path: Path, stored: Stored) -> None:
    agent = added(tmp_path, "run", seed=1)
    verdict(agent.checkpoint, refusal="NaN weights")
    again = added(tmp_path, "run", seed=2)
    assert again.pk == agent.pk
    assert again.checkpoint_id != agent.checkpoint_id
    assert Checkpoint.objects.count() == 2


def test_a_refused_file_is_checked_again_under_the_same_name_only(
    tmp_path: Path, stored: Stored, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    agent = added(tmp_path, "run")
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        verdict(agent.checkpoint, refusal="unknown architecture 'mlp'")
    assert not stored()
    with pytest.raises(BadInputError, match="refused because of: unknown architecture"):
        added(tmp_path, "other")
    assert not stored()
    assert added(tmp_path, "run").pk == agent.pk
    row = Checkpoint.objects.get()
    assert (row.state, row.reason, stored()) == ("checking", "", [row.sha256])


def test_a_second_agent_may_play_the_same_weights_another_way(tmp_path: Path) -> None:
    first = added(tmp_path, "run")
    verdict(first.checkpoint, row_ms=5)
    hot = agents.register_agent(
        "hot", game=GAME, policy="network", parameters={"temperature": 1.0}, checkpoint="run"
    )
    assert (hot.checkpoint_id, hot.placement) == (first.checkpoint_id, "gpu")


@pytest.mark.parametrize(
    ("policy", "checkpoint", "words"),
    [
        ("network", "", "policy network needs one"),
        ("random", "run", "policy random has no network"),
        ("network", "walk", "'walk' is no SHA-256"),
    ],
)
def test_networks_have_weights_and_others_have_none(
    tmp_path: Path, policy: str, checkpoint: str, words: str
) -> None:
    added(tmp_path, "run")
    with pytest.raises(BadInputError, match=words) as error:
        agents.register_agent("a", game=GAME, policy=policy, checkpoint=checkpoint)
    assert error.value.field == "checkpoint"


def test_weights_of_another_game_are_refused(tmp_path: Path) -> None:
    agent = added(tmp_path, "run")
    with pytest.raises(BadInputError, match="is of connect_four, not hex"):
        agents.register_agent(
            "a", game="hex", policy="network", checkpoint=str(agent.checkpoint_id)[:10]
        )


def test_the_policy_of_a_checkpoint_asks_a_network() -> None:
    assert isinstance(check_policy(GAME, checkpoints.POLICY, {}), NetworkPolicy)
