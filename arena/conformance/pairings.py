"""What every pairing that knows all lineups beforehand must keep to."""

from collections import Counter
from collections.abc import Callable

from arena.conformance.base import expect_error, require
from arena.pairing.base import Field, Pairing, PairingError

FIELDS = [Field(n_agents, n_seats) for n_seats in (1, 2, 3, 5) for n_agents in (5, 6, 11, 64)]
FIELDS += [Field(2, 2), Field(3, 2), Field(3, 3)]
N_BLOCKS_EACH = 40


def lineups_have_distinct_agents_of_the_field(pairing: Pairing) -> None:
    """Check that a lineup is of n_seats distinct ints of the field."""
    for field in FIELDS:
        for lineup in pairing.pair(field, 100, seed=7):
            require_lineup(lineup, field)


def require_lineup(lineup: tuple[int, ...], field: Field) -> None:
    """Raise ConformanceError unless a lineup fits its field."""
    is_distinct = len(set(lineup)) == len(lineup) == field.n_seats
    require(is_distinct, f"a lineup must be of {field.n_seats} distinct agents, is {lineup}")
    is_sound = all(type(agent) is int and 0 <= agent < field.n_agents for agent in lineup)
    require(is_sound, f"agents must be Python ints of 0..{field.n_agents - 1}, are {lineup}")


def there_are_as_many_blocks_as_asked_for(pairing: Pairing) -> None:
    """Check that pair() returns n_blocks lineups."""
    for field in FIELDS:
        for n_blocks in (0, 1, 17, 1000):
            n_paired = len(pairing.pair(field, n_blocks, seed=7))
            require(
                n_paired == n_blocks,
                f"pair() must return {n_blocks} lineups for {field}, returned {n_paired}",
            )


def the_same_seed_gives_the_same_lineups(pairing: Pairing) -> None:
    """Check that pair() draws from its seed alone."""
    for field in FIELDS:
        is_same = pairing.pair(field, 50, seed=7) == pairing.pair(field, 50, seed=7)
        require(is_same, "the same seed must give the same lineups: draw from Random(seed) alone")


def another_seed_gives_other_lineups(pairing: Pairing) -> None:
    """Check that pair() draws from its seed."""
    field = Field(11, 2)
    is_other = pairing.pair(field, 30, seed=1) != pairing.pair(field, 30, seed=2)
    require(is_other, "another seed must give other lineups")


def every_agent_plays_its_share(pairing: Pairing) -> None:
    """Within a factor of two of the mean, an odd field too, after forty blocks an agent."""
    for field in FIELDS:
        n_blocks = N_BLOCKS_EACH * field.n_agents
        played = Counter(a for lineup in pairing.pair(field, n_blocks, seed=7) for a in lineup)
        mean = n_blocks * field.n_seats / field.n_agents
        for agent in range(field.n_agents):
            require(
                mean / 2 < played[agent] < mean * 2,
                f"agent {agent} must play about {mean:.0f} matches of {field}, "
                f"plays {played[agent]}",
            )


def all_agents_are_compared_with_each_other(pairing: Pairing) -> None:
    """Connect the field by its lineups, or nobody could say which of two agents is better."""
    for field in (field for field in FIELDS if field.n_seats > 1):
        reached = {0}
        lineups = pairing.pair(field, N_BLOCKS_EACH * field.n_agents, seed=7)
        for _ in range(field.n_agents):
            for lineup in lineups:
                if reached & set(lineup):
                    reached |= set(lineup)
        n_apart = field.n_agents - len(reached)
        require(not n_apart, f"{n_apart} agents of {field} never meet those of agent 0")


def a_negative_number_of_blocks_is_refused(pairing: Pairing) -> None:
    """Check that pair() raises PairingError for less than 0 blocks."""
    with expect_error(PairingError, "pair() must raise PairingError for n_blocks=-1"):
        pairing.pair(Field(5, 2), -1, seed=0)


CHECKS: tuple[Callable[[Pairing], None], ...] = (
    lineups_have_distinct_agents_of_the_field,
    there_are_as_many_blocks_as_asked_for,
    the_same_seed_gives_the_same_lineups,
    another_seed_gives_other_lineups,
    every_agent_plays_its_share,
    all_agents_are_compared_with_each_other,
    a_negative_number_of_blocks_is_refused,
)
