"""Copies LLMServe's simulator into its OpenEnv package, which has to stand alone.

    python environments/copy_simulator.py [--check]

A Space builds nothing but the package's folder. The copies are generated: change the originals.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "arena" / "games" / "llmserve"
TARGET = ROOT / "environments" / "llmserve" / "llmserve_env" / "simulator"
MODULES = (
    "sums",
    "settings",
    "hardware",
    "workload",
    "simulator",
    "grading",
    "features",
    "agents",
)
HEADER = "# A copy of {source}, made by environments/copy_simulator.py: change that one.\n"
PACKAGE = '"""LLMServe\'s simulator, copied from evalsite by environments/copy_simulator.py."""\n'


HOW_TO_COPY = "python environments/copy_simulator.py"


def list_copies(source: Path = SOURCE) -> dict[str, str]:
    """Return what the package has to hold, by name of the file."""
    copies = {"__init__.py": PACKAGE}
    for module in MODULES:
        path = source / f"{module}.py"
        text = path.read_text().replace("arena.games.llmserve", "llmserve_env.simulator")
        copies[path.name] = HEADER.format(source=f"arena/games/llmserve/{path.name}") + text
    return copies


def find_differences(copies: Mapping[str, str], target: Path) -> list[str]:
    """Return the names of files that are missing, another or too many."""
    present = {path.name: path.read_text() for path in target.glob("*.py")}
    names = copies.keys() | present.keys()
    return sorted(name for name in names if copies.get(name) != present.get(name))


def write_copies(copies: Mapping[str, str], target: Path) -> None:
    """Write the copies; what is no longer copied goes."""
    target.mkdir(exist_ok=True)
    for path in target.glob("*.py"):
        if path.name not in copies:
            path.unlink()
    for name, text in copies.items():
        (target / name).write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy, or with --check say what differs; 1 where something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    options = parser.parse_args(arguments)
    copies = list_copies()
    if not options.check:
        write_copies(copies, TARGET)
        return 0
    differences = find_differences(copies, TARGET)
    for name in differences:
        print(f"{TARGET / name} is not what {SOURCE} says: {HOW_TO_COPY}", file=sys.stderr)
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
