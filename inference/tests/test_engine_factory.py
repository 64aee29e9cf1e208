"""The engine is the one that the settings describe, and nothing else takes its place."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from inference.engine_factory import build_engine, device_of, make_engine
from inference.errors import SettingsError
from inference.settings import Settings
from inference.tests.engines import block_of, evaluated
from inference.tests.sealed import Folder

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


@pytest.fixture
def own(folder: Folder) -> Settings:
    return Settings(cache=folder.store.folder, device="cpu")


@needs_no_gpu
def test_a_gpu_that_is_not_there_stops_the_start(own: Settings) -> None:
    with pytest.raises(SettingsError, match="EVALSITE_DEVICE"):
        build_engine(replace(own, device="cuda"))


@needs_no_gpu
def test_auto_takes_the_cpu_where_there_is_nothing_else() -> None:
    assert device_of(Settings(device="auto")) == torch.device("cpu")


def test_a_workers_engine_answers_while_what_traces_need_is_imported(
    folder: Folder, own: Settings
) -> None:
    engine = build_engine(own)
    (warming,) = [thread for thread in threading.enumerate() if thread.name == "warm"]
    warming.join()
    assert "sympy" in sys.modules  # what a first trace imports
    evaluated(engine.answer([block_of(folder.add("mlp", {}, seed=0), 1)])[0])


def test_deterministic_mode_refuses_half_precision(own: Settings) -> None:
    with pytest.raises(SettingsError, match="EVALSITE_PRECISION"):
        build_engine(replace(own, is_deterministic=True, precision="bfloat16"))


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_answers_nearly_the_same(
    folder: Folder, own: Settings, precision: str
) -> None:
    block = block_of(folder.add("mlp", {"hidden": "32"}, seed=0), 5)
    whole, half = (
        evaluated(make_engine(replace(own, precision=p, is_deterministic=False)).answer([block])[0])
        for p in ("float32", precision)
    )
    assert half.logits.dtype == np.float32
    np.testing.assert_allclose(half.logits, whole.logits, atol=0.05)
    assert not np.array_equal(half.logits, whole.logits)


def test_what_is_compiled_is_asked_for_powers_of_two(folder: Folder, own: Settings) -> None:
    block = block_of(folder.add("mlp", {"hidden": "8"}, seed=0), 5)
    expected = evaluated(make_engine(own).answer([block])[0])
    engine = make_engine(replace(own, compile="compile", is_deterministic=False))
    with torch.compiler.set_stance("force_eager"):  # compiling takes a minute
        compiled = evaluated(engine.answer([block])[0])
    np.testing.assert_allclose(compiled.logits, expected.logits, atol=1e-5)
    assert engine.counts["filled_rows"] == 3
    loaded = engine.models.get(block.ref)
    assert loaded.forward is not loaded.model.module
