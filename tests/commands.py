"""`evalsite` against a running stack, as a user of this machine types it."""

import subprocess
import sys
from typing import Any

from launcher.folders import ROOT
from launcher.stack import Stack


def command_line(*arguments: str) -> list[str]:
    """Return the command of `evalsite` with these arguments."""
    return [sys.executable, "-m", "evalsite_client", *arguments]


def evalsite(stack: Stack, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; it finds address and token in the data folder of the stack."""
    run_options = {"cwd": ROOT, "env": dict(stack.env), "check": False, **options}
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, **run_options)


def read_token(stack: Stack) -> str:
    """Return the token that the start of a stack left in its data folder for its user."""
    lines = (stack.plan.var / "client.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)["EVALSITE_TOKEN"]
