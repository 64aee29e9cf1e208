"""`evalsite checkpoints convert`: runs where torch is, and says so where it is not."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from evalsite_client.cli.access import CLONE
from evalsite_client.cli.stopping import INTERRUPTED

CONVERTER: Final = "inference.convert"
BAD_INPUT: Final = 2


def convert_files(arguments: Sequence[str]) -> int:
    """Return the exit status of the converter, which this package does not import."""
    environment = dict(os.environ)
    is_here = find_spec("inference") is not None
    if not is_here and (CLONE / "inference").is_dir():
        paths = [str(CLONE), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        is_here = True
    missing = [] if is_here else ["the package inference"]
    missing += [] if find_spec("torch") is not None else ["torch"]
    if missing:
        sys.stderr.write(
            f"evalsite: convert runs where the network was trained and needs "
            f"{' and '.join(missing)}, not installed here: pip install 'CLONE[inference]'\n"
        )
        return BAD_INPUT
    try:
        command = [sys.executable, "-m", CONVERTER, *arguments]
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return INTERRUPTED
