"""`python -m launcher`: what `./run` calls once the virtual environment is ready."""

import sys

from launcher.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
