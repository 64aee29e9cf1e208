"""A real player whose catalogs hold the fakes, networks included."""

import sys

from workers.player import main
from workers.tests.fake_networks import catalogs_with

COMMAND = (sys.executable, "-m", "workers.tests.fake_player")

if __name__ == "__main__":
    main(sys.argv[1:], lambda channel, call_memory: catalogs_with(call_memory))
