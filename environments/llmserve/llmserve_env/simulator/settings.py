# A copy of arena/games/llmserve/settings.py, made by environments/copy_simulator.py: change that one.
"""The six knobs of the server, and the choices among which an agent of the platform decides."""

from typing import Final, NamedTuple

TIERS: Final = ("FP16", "INT8", "INT4")


class Settings(NamedTuple):
    """How the server runs in one window.

    batch_cap: requests that decode together at most, 1..512; kv_budget_fraction: of the memory that
    the weights leave, 0.1..1; speculation_depth: draft tokens before each check, 0..8; tier: index
    into TIERS; is_split: prefill and decode on two GPUs each; is_prioritised: the dearer class of
    requests goes first.
    """

    batch_cap: int
    kv_budget_fraction: float
    speculation_depth: int
    tier: int
    is_split: bool
    is_prioritised: bool


FIRST: Final = Settings(32, 0.5, 0, 1, False, False)
"""How the server runs before the first window: what differs from it has to be changed."""

CHOICES: Final[tuple[tuple[float, ...], ...]] = (
    (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512),
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    tuple(range(9)),
    tuple(range(len(TIERS))),
    (False, True),
    (False, True),
)
"""By field of Settings: what the six decisions of a window choose among."""


def choose(choices: tuple[int, ...] | list[int]) -> Settings:
    """Return the settings of six choices, each an index into CHOICES."""
    batch, kv, depth, tier, is_split, is_prioritised = choices
    return Settings(
        int(CHOICES[0][batch]),
        CHOICES[1][kv],
        int(CHOICES[2][depth]),
        int(CHOICES[3][tier]),
        bool(CHOICES[4][is_split]),
        bool(CHOICES[5][is_prioritised]),
    )
