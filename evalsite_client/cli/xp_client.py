"""`evalsite xp-client`: play for a training run and upload what was seen and done."""

from argparse import ArgumentParser, Namespace, _SubParsersAction
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from evalsite_client.cli.options import add_command, read_seconds, read_whole
from evalsite_client.cli.show import Answer
from evalsite_client.client import Client
from evalsite_client.errors import InputError

PLAYING: Final = "evalsite_client.experience.command"
INSTALL: Final = "pip install 'CLONE[xp]'"
MOST_EPISODES: Final = 1_000_000_000
WAIT_S: Final = 120.0


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    flag = add_command(
        commands,
        "xp-client",
        play_for_run,
        examples="  evalsite xp-client --env CartPole-v1 --run poles --episodes 1000\n"
        "  evalsite xp-client --env CartPole-v1 --run poles --episodes 1000 --upload-every 5 "
        "--download-every 20 --seed 7\n"
        "  exit status: 0 done, 1 failed, 2 refused, 130 Ctrl-C: what is whole was sent",
    ).add_argument
    flag(
        "--env",
        required=True,
        metavar="ID",
        help="of Gymnasium, such as CartPole-v1, or of its game, cart_pole",
    )
    flag("--run", required=True, metavar="NAME", dest="run_name", help="the training run")
    flag("--episodes", type=read_whole(1, MOST_EPISODES), required=True, metavar="N")
    often = read_whole(1, MOST_EPISODES)
    help_text = "send what is whole after so many episodes (1): chunks of 128 to 256 steps"
    flag("--upload-every", type=often, default=1, metavar="E", help=help_text)
    help_text = (
        "look for a later policy after so many episodes (10), and whenever an answer says so"
    )
    flag("--download-every", type=often, default=10, metavar="E", help=help_text)
    flag("--seed", type=read_whole(0, 2**63 - 1), help="replays episodes and draws; else chance")
    flag("--released", action="store_true", help="play only what was judged and released")
    help_text = "for the first version of the run (120)"
    flag("--wait", type=read_seconds, default=WAIT_S, metavar="S", help=help_text)


def play_for_run(client: Client, options: Namespace) -> Answer:
    """Play a training run's latest policy and upload what was seen and done."""
    if find_spec("numpy") is None:
        raise InputError("numpy", f"is not installed here: {INSTALL}")
    # By its name: every other command has to run without numpy.
    answer: Answer = import_module(PLAYING).play_for_run(client, options)
    return answer
