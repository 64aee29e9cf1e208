"""Fill the database of the settings and measure it: one size, one process. Called by pages."""

import json
import os
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import django


def main() -> int:
    """Write the figures of one size; return the exit status."""
    parser = ArgumentParser(prog="benchmarks.field")
    for name in ("agents", "matches", "warm", "cold"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--only", default="", help="addresses with this text")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
    django.setup()
    # What fills and asks imports models: only now are there any.
    filling, measuring = (
        import_module(f"benchmarks.field.{name}") for name in ("filling", "measuring")
    )
    took_s = filling.fill(options.agents, options.matches)
    print(f"filled in {took_s:.0f} s", flush=True)
    try:
        found = measuring.measure(n_warm=options.warm, n_cold=options.cold, only=options.only)
    except (measuring.RefusedError, import_module("benchmarks.field.errors").ForgottenError) as e:
        print(f"bench pages: {e}", file=sys.stderr)
        return 1
    options.out.write_text(json.dumps([asdict(one) for one in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
