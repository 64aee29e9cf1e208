"""Fill the database of the settings and measure it: one size, one process. Called by pages."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

import django


def main(n_agents: int, n_matches: int, out: str, **sizes: object) -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
    django.setup()
    # What fills and asks imports models: only now are there any.
    names = ("filling", "measuring", "addresses")
    filling, measuring, addresses = (import_module(f"benchmarks.field.{name}") for name in names)
    took_s = filling.fill_database(n_agents, n_matches)
    print(f"filled in {took_s:.0f} s", flush=True)
    try:
        figures = measuring.measure_addresses(**sizes)
    except (measuring.RefusedError, addresses.ForgottenError) as error:
        print(f"bench pages: {error}", file=sys.stderr)
        return 1
    Path(out).write_text(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(**json.loads(sys.argv[1])))
