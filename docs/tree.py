"""Figures of one or more checkouts side by side: `python docs/tree.py BEFORE AFTER`.

What tests, migrations and documents hold is not counted, but for the last rows: in how many files
a thing that was once added is named, which is how many a new one of its kind would touch.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grimp

PACKAGES = (
    *("arena", "evalsite", "evalsite_client", "inference", "launcher"),
    *("live", "matches", "pages", "workers"),
)
LEFT_OUT = {"tests", "migrations", "docs", "examples", "var", "node_modules", ".venv"}
SMALL = 40
"""Lines; files shorter than this are counted."""
NAMED = {
    "an option of a tournament": ("keeps_trajectories", "max_money", "replays"),
    "an endpoint": ("forecasts", "audit"),
    "a page": ("seasonpages", "show_season"),
    "a question": ("top_k",),
    "a game": ("backgammon",),
}


class Tree(NamedTuple):
    """The source of a checkout, read once."""

    root: Path
    texts: dict[Path, str]


def read_tree(root: Path) -> Tree:
    """Return the Python files of a checkout that are no tests."""
    files = [
        path for path in root.rglob("*.py") if not LEFT_OUT & set(path.relative_to(root).parts)
    ]
    kept = [path for path in files if not path.name.startswith(("test_", "conftest"))]
    return Tree(root, {path.relative_to(root): path.read_text() for path in kept})


def measure(tree: Tree) -> dict[str, object]:
    """Return every figure of a checkout by its name."""
    lengths = {path: text.count("\n") for path, text in tree.texts.items()}
    return {
        "source lines": sum(lengths.values()),
        "files": len(lengths),
        "median of a file's lines": median(lengths.values()),
        f"files under {SMALL} lines": sum(n < SMALL for n in lengths.values()),
        "longest file": max(lengths.values()),
        "biggest room of matches, %": measure_biggest_room(lengths),
        **measure_functions(tree),
        "comments per 100 lines": measure_comments(tree),
        "pairs of folders that import each other": count_mutual_folders(tree),
        **{f"files that name {what}": count_naming(tree, names) for what, names in NAMED.items()},
    }


def measure_biggest_room(lengths: dict[Path, int]) -> float:
    """Return the share of the folder of matches with most lines."""
    rooms: Counter[Path] = Counter()
    for path, n_lines in lengths.items():
        if path.parts[0] == "matches":
            rooms[path.parent] += n_lines
    return round(100 * max(rooms.values()) / rooms.total(), 1)


def measure_functions(tree: Tree) -> dict[str, object]:
    """Return the shares of private functions that are used once and of names of one word."""
    n_functions = n_used_once = n_of_one_word = 0
    for text in tree.texts.values():
        nodes = list(ast.walk(ast.parse(text)))
        uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        uses += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                n_functions += 1
                if not node.name.startswith("__"):
                    n_of_one_word += "_" not in node.name.strip("_")
                    n_used_once += node.name.startswith("_") and uses[node.name] == 1
    return {
        "functions": n_functions,
        "private functions used once, %": round(100 * n_used_once / n_functions, 1),
        "function names of one word, %": round(100 * n_of_one_word / n_functions, 1),
    }


def measure_comments(tree: Tree) -> float:
    """Return the comments per 100 lines that are neither empty nor a comment."""
    n_comments = n_lines = 0
    for text in tree.texts.values():
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        n_comments += sum(token.type == tokenize.COMMENT for token in tokens)
        lines = [line.strip() for line in text.splitlines()]
        n_lines += sum(bool(line) and not line.startswith("#") for line in lines)
    return round(100 * n_comments / n_lines, 1)


def count_mutual_folders(tree: Tree) -> int:
    """Return how many pairs of folders import from each other both ways."""
    sys.path.insert(0, str(tree.root))
    packages = [name for name in PACKAGES if (tree.root / name).is_dir()]
    graph = grimp.build_graph(packages[0], *packages[1:], cache_dir=None)
    sys.path.remove(str(tree.root))
    # A module directly in a package, as matches/dispatch.py, is a room of its own.
    names = {
        ".".join(path.with_suffix("").parts): path if path.parent.name in PACKAGES else path.parent
        for path in tree.texts
    }
    arrows = {
        (folder, names[imported])
        for module, folder in names.items()
        if module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in names
    }
    return sum(one < other and (other, one) in arrows for one, other in arrows)


def count_naming(tree: Tree, names: tuple[str, ...]) -> str:
    """Return for each name in how many files it stands."""
    counts = (sum(name in text for text in tree.texts.values()) for name in names)
    return ", ".join(f"{name} {n}" for name, n in zip(names, counts, strict=True))


def main(roots: list[str]) -> None:
    """Print a table with a column per checkout."""
    columns = [measure(read_tree(Path(root).resolve())) for root in roots or ["."]]
    print("| figure | " + " | ".join(roots or ["this tree"]) + " |")
    print("|---|" + "---|" * len(columns))
    for figure in columns[0]:
        print(f"| {figure} | " + " | ".join(str(column[figure]) for column in columns) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
