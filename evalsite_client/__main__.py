"""`python -m evalsite_client`: the same as `evalsite`."""

import sys

from evalsite_client.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
