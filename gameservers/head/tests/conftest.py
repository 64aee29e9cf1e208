"""A head that computes networks itself, and a folder of sealed files that it may be asked for."""

from collections.abc import Iterator

import pytest

from gameservers.head.access import Door
from gameservers.head.settings import HeadSettings
from gameservers.head.tests.running import PASS_KEY, Running, running_head
from inference.client import CheckpointRef, Settings
from inference.tests.sealed import Folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def ref(folder: Folder) -> CheckpointRef:
    return folder.add("mlp", {"hidden": "16"}, seed=1)


@pytest.fixture(scope="module")
def own(folder: Folder) -> HeadSettings:
    return HeadSettings(door=Door(PASS_KEY), inference=Settings(cache=folder.store.folder))


@pytest.fixture(scope="module")
def head(own: HeadSettings) -> Iterator[Running]:
    with running_head(own) as running:
        yield running
