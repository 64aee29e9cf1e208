"""`./run up`: starts the stack, prints where it is, follows its progress and ends it."""

import signal
import subprocess
import time
from types import FrameType
from typing import Never

from evalsite.folders import ROOT
from evalsite.plan import FLOWER_USER, Plan
from evalsite.programs import PYTHON
from evalsite.stack import Stack, launch

LOOK_EVERY_S = 0.5


def run(plan: Plan, *, example: bool, detach: bool) -> int:
    """Start the stack and follow it until a signal or another terminal ends it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    print(f"Starting in {plan.var} ...", flush=True)
    stack = launch(plan, example=example, say=_say)
    show_addresses(plan)
    if detach:
        print("Runs on its own; ./run stop ends it.")
        return 0
    print("Ctrl-C ends it.", flush=True)
    try:
        _follow(stack)
        print("It was stopped from elsewhere.")
    except KeyboardInterrupt:
        # The end is bounded, and half an end would leave processes behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        print("\nStopping ...", flush=True)
    finally:
        stack.stop()
    print("All processes have ended; ./run goes on where this stopped.")
    return 0


def _interrupt(_: int, __: FrameType | None) -> Never:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    if line:
        print(line, flush=True)


def show_addresses(plan: Plan) -> None:
    """Print what a browser can open."""
    for name, url in plan.addresses().items():
        print(f"{name:<7} {url}")
    print(f"Logs    {plan.var / 'log'}")
    login = f"user {FLOWER_USER}, password EVALSITE_FLOWER_PASSWORD in {plan.var / 'secrets.env'}"
    print(f"Flower asks for a login: {login}", flush=True)


def _follow(stack: Stack) -> None:
    """Print the progress of matches until the supervisor is gone."""
    # A child of its own session: Ctrl-C is for us, and the supervisor needs no Django.
    progress = subprocess.Popen(
        [PYTHON, "manage.py", "progress"],
        cwd=ROOT,
        env=dict(stack.env),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while stack.supervisor.pid() is not None:
            time.sleep(LOOK_EVERY_S)
    finally:
        progress.terminate()
        progress.wait()
