"""Packages of the server that some commands start as a process: installed, or in the clone."""

import os
from importlib.util import find_spec

from evalsite_client.cli.access import CLONE
from evalsite_client.errors import InputError

EXTRAS = {"arena": "arena", "inference": "inference"}


def find_package(package: str) -> dict[str, str]:
    """Return the environment in which Python finds a package that this one does not import.

    Raises InputError where there is none, with the command that installs it.
    """
    environment = dict(os.environ)
    # A process of another folder does not find what this one does: the clone is named either way.
    if (CLONE / package).is_dir():
        paths = [str(CLONE), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    elif find_spec(package) is None:
        raise InputError(
            package,
            f"this needs the package {package}, not installed here: "
            f"pip install 'CLONE[{EXTRAS[package]}]'",
        )
    return environment
