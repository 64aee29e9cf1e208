"""`python -m gameservers COMMAND`: the commands of this package where none are installed."""

import sys
from importlib import import_module

COMMANDS = {"eval_head": "gameservers.head.command", "game_server": "gameservers.reference"}


def main() -> int:
    """Run the command that is named; return the exit status."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        sys.stderr.write(f"python -m gameservers: {name!r} is none of {', '.join(COMMANDS)}\n")
        return 2
    status: int = import_module(COMMANDS[name]).main(sys.argv[2:])
    return status


if __name__ == "__main__":
    sys.exit(main())
