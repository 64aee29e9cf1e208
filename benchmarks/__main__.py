"""`./run bench NAME`: measure one part; `./run chaos` is the one that kills."""

import ast
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

INTERRUPTED = 130
NAMES = (
    "chaos", "comparison", "head", "imports", "inference", "ingest", "large_fields", "live", "loop",
    "matches", "pages", "ratings", "scores", "servers", "showdown", "verdicts",
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark that the first argument names; return the exit status."""
    name = arguments[0] if arguments else ""
    if name in ("", "-h", "--help"):
        print("\n".join(["usage: ./run bench NAME [--help]", *map(describe, NAMES)]))
        return 0 if name else 2
    if name not in NAMES:
        print(f"bench: unknown name {name!r}: choose one of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    # SIGTERM ends a benchmark as Ctrl-C does: the stacks that it has started end with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status: int = import_module(f"benchmarks.{name}").main(arguments[1:])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def describe(name: str) -> str:
    """Return a benchmark with the first line of what its module says."""
    text = ast.get_docstring(ast.parse(Path(__file__).with_name(f"{name}.py").read_text())) or ""
    return f"  {name:<12}  {text.splitlines()[0]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
