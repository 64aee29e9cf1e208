"""A real player whose catalogs hold the fakes."""

import sys

from workers.player import main
from workers.tests.fakes import CATALOGS

COMMAND = (sys.executable, "-m", "workers.tests.fake_player")

if __name__ == "__main__":
    main(sys.argv[1:], lambda channel, beacon: CATALOGS)
