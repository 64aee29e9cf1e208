"""`./run up`: starts the stack, prints where it is, follows its progress and ends it."""

import signal
import subprocess
import time
from types import FrameType

from launcher.folders import ROOT
from launcher.plan import FLOWER_USER, Plan
from launcher.programs import PYTHON
from launcher.stack import Stack, launch

LOOK_EVERY_S = 0.2


class Interruption:
    """Handles the signals that end us: it raises while we start, later it only notes them."""

    def __init__(self) -> None:
        self.is_asked = False
        self.is_raising = True

        def note(_: int, __: FrameType | None) -> None:
            self.is_asked = True
            # Not later: in the middle of Popen it would lose the child that was just made.
            if self.is_raising:
                raise KeyboardInterrupt

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, note)


def run_stack(plan: Plan, *, example: bool, detach: bool) -> int:
    """Start the stack and follow it until a signal or another terminal ends it."""
    interruption = Interruption()
    print(f"Starting in {plan.var} ...", flush=True)

    def say(line: str) -> None:
        if line:
            print(line, flush=True)

    stack = launch(plan, example=example, say=say)
    interruption.is_raising = False
    show_addresses(plan)
    if detach:
        print("Runs on its own; ./run stop ends it.")
        return 0
    print("Ctrl-C ends it.", flush=True)
    _follow_progress(stack, interruption)
    print(
        "\nStopping ..." if interruption.is_asked else "It was stopped from elsewhere.", flush=True
    )
    stack.stop()
    print("All processes have ended; ./run goes on where this stopped.")
    return 0


def show_addresses(plan: Plan) -> None:
    """Print what a browser can open."""
    for name, url in plan.addresses().items():
        print(f"{name:<7} {url}")
    print(f"Logs    {plan.var / 'log'}")
    login = f"user {FLOWER_USER}, password EVALSITE_FLOWER_PASSWORD in {plan.var / 'secrets.env'}"
    print(f"Flower asks for a login: {login}", flush=True)


def _follow_progress(stack: Stack, interruption: Interruption) -> None:
    """Print the progress of matches until we are asked to end or the supervisor is gone."""
    # A child of its own session: Ctrl-C is for us, and the supervisor needs no Django.
    progress = subprocess.Popen(
        [PYTHON, "manage.py", "progress"],
        cwd=ROOT,
        env=dict(stack.env),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not interruption.is_asked and stack.supervisor.pid() is not None:
        time.sleep(LOOK_EVERY_S)
    progress.terminate()
    progress.wait()
