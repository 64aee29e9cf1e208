"""The command line of `./run node`."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from arena.parameters import parse_number
from launcher.errors import SetupError
from launcher.joining import acts

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
TOKEN: Final = "EVALSITE_JOIN_TOKEN"


def _read_slots(text: str) -> int:
    if (number := parse_number(text, lowest=1, highest=4096)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 4096")
    return number


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `./run node`."""
    parser = argparse.ArgumentParser(
        prog="./run node",
        description="Makes this machine a play node of a server elsewhere. Without an option: says "
        "whether it is one.",
    )
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--join", metavar="URL", help="become a node of the server of these pages")
    act.add_argument("--start", action="store_true", help="start it again after a restart")
    act.add_argument("--leave", action="store_true", help="undo it: end, shut out, remove")
    parser.add_argument(
        "--token",
        default=os.environ.get(TOKEN, ""),
        help=f"what ./run manage node invite NAME prints on the server (or {TOKEN})",
    )
    parser.add_argument(
        "--concurrency",
        dest="slots",
        type=_read_slots,
        default=os.cpu_count() or 1,
        metavar="T",
        help="players (the number of cores)",
    )
    parser.add_argument(
        "--with-torch",
        action="store_true",
        help="install torch, too: small networks then run in the players here",
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    options = build_parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = acts.show
    if options.join is not None:
        run = acts.join
    elif options.leave or options.start:
        run = acts.leave if options.leave else acts.start
    try:
        return run(options)
    except SetupError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
