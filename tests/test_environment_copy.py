"""The OpenEnv package holds the very simulator of the platform."""

import hashlib
from pathlib import Path

import pytest

from environments import copy_simulator
from environments.copy_simulator import (
    MODULES,
    SOURCE,
    TARGET,
    find_differences,
    list_copies,
    write_copies,
)


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_package_holds_the_simulator_of_the_platform() -> None:
    expected = {name: hash_text(text) for name, text in list_copies().items()}
    present = {path.name: hash_text(path.read_text()) for path in TARGET.glob("*.py")}
    assert present == expected, "python environments/copy_simulator.py"


@pytest.mark.parametrize("module", MODULES)
def test_a_copy_is_the_original_with_a_first_line_and_other_imports(module: str) -> None:
    original = SOURCE / f"{module}.py"
    _, *lines = (TARGET / f"{module}.py").read_text().splitlines(keepends=True)
    copied = "".join(lines).replace("llmserve_env.simulator", "arena.games.llmserve")
    assert copied == original.read_text()


def test_nothing_copied_needs_the_platform() -> None:
    for path in TARGET.glob("*.py"):
        imports = [
            line for line in path.read_text().splitlines() if line.startswith(("import ", "from "))
        ]
        assert not [line for line in imports if "arena" in line]


def test_what_is_missing_changed_or_too_much_is_named(tmp_path: Path) -> None:
    copies = list_copies()
    write_copies(copies, tmp_path)
    assert find_differences(copies, tmp_path) == []
    (tmp_path / "hardware.py").write_text("GPUS = 8\n")
    (tmp_path / "grading.py").unlink()
    (tmp_path / "own.py").touch()
    assert find_differences(copies, tmp_path) == ["grading.py", "hardware.py", "own.py"]
    write_copies(copies, tmp_path)
    assert find_differences(copies, tmp_path) == []


def test_the_command_copies_and_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(copy_simulator, "TARGET", tmp_path)
    assert copy_simulator.main(["--check"]) == 1
    assert "workload.py is not what" in capsys.readouterr().err
    assert copy_simulator.main([]) == 0
    assert copy_simulator.main(["--check"]) == 0
