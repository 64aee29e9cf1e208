"""`./run bench NAME`: measure one part; `./run chaos` is the one that kills."""

import sys
from collections.abc import Sequence
from importlib import import_module

NAMES = ("chaos", "comparison", "inference", "matches", "ratings")


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark that the first argument names; return the exit status."""
    name = arguments[0] if arguments else ""
    if name not in NAMES:
        print(f"bench: unknown name {name!r}: choose one of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    status: int = import_module(f"benchmarks.{name}").main(arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
