"""`python -m evalsite`: what `./run` calls once the virtual environment is ready."""

import sys

from evalsite.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
