"""One live process of a node name on a machine, and what it says of the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from workers import node_lock
from workers.errors import SettingsError

URL = "redis://node-1:secret@127.0.0.1:6379/0"
HOLD = "import sys; from pathlib import Path; from workers import node_lock; print(node_lock.lock_node_name(*sys.argv[1:3], folder=Path(sys.argv[3])), flush=True); input()"  # noqa: E501


def hold(node: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Return another process that has the name, and the place that it names."""
    command = [sys.executable, "-c", HOLD, node, URL, str(folder)]
    held = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert held.stdout is not None
    return held, held.stdout.readline().strip()


def test_a_name_is_free_again_as_soon_as_its_process_is_dead(tmp_path: Path) -> None:
    held, place = hold("node-1", tmp_path)
    with pytest.raises(SettingsError, match="another node that runs on this machine"):
        node_lock.lock_node_name("node-1", URL, folder=tmp_path)
    held.kill()
    held.wait()
    assert node_lock.lock_node_name("node-1", URL, folder=tmp_path) == place != ""


def test_other_names_other_brokers_and_other_machines_are_other_places(tmp_path: Path) -> None:
    taken = [node_lock.lock_node_name(name, URL, folder=tmp_path) for name in ("node-2", "node-3")]
    taken.append(node_lock.lock_node_name("node-2", URL.replace("6379", "6380"), folder=tmp_path))
    (tmp_path / "other").mkdir()
    taken.append(node_lock.lock_node_name("node-2", URL, folder=tmp_path / "other"))
    assert len(set(taken)) == len(taken)


def test_where_nothing_can_be_written_nothing_is_proven(tmp_path: Path) -> None:
    assert node_lock.lock_node_name("node-1", URL, folder=tmp_path / "missing") == ""
