"""How the network of a run is spelled: `mlp;hidden=64,64`."""

from collections.abc import Collection

from arena import architecture_files
from arena.errors import ParameterError
from arena.parameters import read_parameters
from arena.trainers.ppo import NETWORK


def split_network(
    owner: str, text: str, architectures: Collection[str]
) -> tuple[str, dict[str, str]]:
    """Return which of the architectures a text names, and what it gives it by name.

    Raises ParameterError for another one, or what is no pair of name and value.
    """
    architecture, *pairs = text.split(";")
    if architecture not in architectures or not all("=" in pair for pair in pairs):
        rule = f"must be one of {', '.join(architectures)}, then ;name=value as often as wanted"
        raise ParameterError(owner, NETWORK, f"{rule}, got {text!r:.100}")
    return architecture, dict(pair.split("=", 1) for pair in pairs)


def check_network(owner: str, text: str) -> None:
    """Refuse a network that cannot be built, as far as its architecture's file says so plainly.

    Torch may not be here, so what an architecture demands of a game or of two parameters together
    shows only where the network is built. Raises ParameterError.
    """
    declared = architecture_files.list_architectures()
    architecture, values = split_network(owner, text, declared)
    parameters = declared[architecture]
    if parameters is not None:
        read_parameters(architecture, parameters, values)
