"""Fill the database of the settings and measure it: one size, one process. Called by pages."""

import json
import os
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import django


def main() -> int:
    parser = ArgumentParser(prog="benchmarks.field")
    for name in ("agents", "matches", "warm", "cold"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--only", default="", help="addresses with this text")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
    django.setup()
    # What fills and asks imports models: only now are there any.
    names = ("filling", "measuring", "addresses")
    filling, measuring, addresses = (import_module(f"benchmarks.field.{name}") for name in names)
    took_s = filling.fill_database(options.agents, options.matches)
    print(f"filled in {took_s:.0f} s", flush=True)
    sizes = {"n_warm": options.warm, "n_cold": options.cold}
    try:
        figures = measuring.measure_addresses(**sizes, only=options.only)
    except (measuring.RefusedError, addresses.ForgottenError) as error:
        print(f"bench pages: {error}", file=sys.stderr)
        return 1
    options.out.write_text(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
