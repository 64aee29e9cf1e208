"""Networks are loaded once, and go when others need their place."""

from pathlib import Path

import pytest
import torch

from inference.batch_invariance import Forward
from inference.errors import NoArchitectureError, UnavailableError
from inference.model import Model
from inference.model_cache import REFUSED_S, ModelCache
from inference.protocol import CheckpointRef
from inference.tests.sealed import Folder

SMALL = {"hidden": "8"}


class Clock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def called(model: Model) -> Forward:
    forward: Forward = model.module
    return forward


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


def cache_of(folder: Folder, clock: Clock, *, limit_bytes: int = 1 << 30) -> ModelCache:
    return ModelCache(
        folder.store,
        limit_bytes=limit_bytes,
        device=torch.device("cpu"),
        dtype=torch.float32,
        prepare=called,
        clock=clock,
    )


def test_a_network_is_loaded_once(folder: Folder) -> None:
    models, ref = cache_of(folder, Clock()), folder.add("mlp", SMALL, seed=0)
    assert models.get(ref) is models.get(ref)
    assert models.counts == {"models_loaded": 1}
    assert models.find_loaded(ref.checkpoint) is models.get(ref)
    assert models.find_loaded("0" * 64) is None


def test_the_network_asked_least_recently_goes_first(folder: Folder) -> None:
    refs = [folder.add("mlp", SMALL, seed=seed) for seed in range(3)]
    size = cache_of(folder, Clock()).get(refs[0]).model.n_bytes
    models = cache_of(folder, Clock(), limit_bytes=2 * size)
    for ref in (refs[0], refs[1], refs[0], refs[2]):
        models.get(ref)
    assert [models.find_loaded(ref.checkpoint) is not None for ref in refs] == [True, False, True]
    assert models.counts["models_evicted"] == 1
    assert models.n_bytes == 2 * size


def test_a_network_above_the_limit_is_held_alone(folder: Folder) -> None:
    models = cache_of(folder, Clock(), limit_bytes=1)
    for seed in range(2):
        models.get(folder.add("mlp", SMALL, seed=seed))
    assert len(models) == 1


def test_what_cannot_be_loaded_is_remembered_some_seconds(folder: Folder) -> None:
    clock = Clock()
    models = cache_of(folder, clock)
    path = folder.store.folder / "new"
    path.write_bytes(b"no checkpoint")
    ref = folder.adopt(path)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="cannot be loaded here"):
            models.get(ref)
    good = folder.add("mlp", SMALL, seed=0)
    held = folder.store.path(ref)
    held.write_bytes(folder.store.path(good).read_bytes())  # as if what lacked had been added
    with pytest.raises(UnavailableError):
        models.get(ref)
    clock.now += REFUSED_S + 1
    assert models.get(ref).model.state_size == 0


def test_an_architecture_that_is_missing_is_named_with_what_to_do(folder: Folder) -> None:
    models = cache_of(folder, Clock())
    ref = folder.add_foreign()
    refusal = r"unknown architecture 'own_architecture'.*mlp.*the same EVALSITE_PLUGINS"
    for _ in range(2):  # the second time from memory
        with pytest.raises(NoArchitectureError, match=refusal):
            models.get(ref)


def test_a_file_that_went_is_no_crash(folder: Folder) -> None:
    class Vanishing:
        def path(self, ref: CheckpointRef, *, keep_alive: object) -> Path:
            return folder.store.folder / "gone"

    models = cache_of(folder, Clock())
    models.store = Vanishing()  # type: ignore[assignment]
    with pytest.raises(UnavailableError):
        models.get(CheckpointRef("0" * 64, ""))


def test_others_make_room(folder: Folder) -> None:
    models = cache_of(folder, Clock())
    refs = [folder.add("mlp", SMALL, seed=seed) for seed in range(3)]
    for ref in refs:
        models.get(ref)
    assert models.drop_others(refs[1].checkpoint)
    assert [models.find_loaded(ref.checkpoint) is not None for ref in refs] == [False, True, False]
    assert not models.drop_others(refs[1].checkpoint)
