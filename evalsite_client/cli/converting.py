"""`evalsite checkpoints convert`: runs where torch is, and says so where it is not."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from evalsite_client.cli.clone import find_package
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.errors import InputError

CONVERTER: Final = "inference.convert"
BAD_INPUT: Final = 2
INSTALL: Final = "pip install 'CLONE[inference]'"


def convert_files(arguments: Sequence[str]) -> int:
    """Return the exit status of the converter, which this package does not import."""
    try:
        environment = find_package("inference")
        if find_spec("torch") is None:
            raise InputError("torch", f"is not installed here: {INSTALL}")
    except InputError as error:
        sys.stderr.write(f"evalsite: convert runs where the network was trained: {error}\n")
        return BAD_INPUT
    try:
        command = [sys.executable, "-m", CONVERTER, *arguments]
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return INTERRUPTED
