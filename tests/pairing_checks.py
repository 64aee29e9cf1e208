"""What every pairing must keep to; each check raises AssertionError where it does not."""

from collections import Counter
from collections.abc import Callable

import pytest

from arena.pairing.base import Field, Pairing, PairingError

FIELDS = [Field(n_agents, n_seats) for n_seats in (1, 2, 3, 5) for n_agents in (5, 6, 11, 64)]
FIELDS += [Field(2, 2), Field(3, 2), Field(3, 3)]


def lineups_have_distinct_agents_of_the_field(pairing: Pairing) -> None:
    for field in FIELDS:
        for lineup in pairing.pair(field, 100, seed=7):
            assert len(set(lineup)) == len(lineup) == field.n_seats
            assert all(type(agent) is int and 0 <= agent < field.n_agents for agent in lineup)


def there_are_as_many_blocks_as_asked_for(pairing: Pairing) -> None:
    for field in FIELDS:
        for n_blocks in (0, 1, 17, 1000):
            assert len(pairing.pair(field, n_blocks, seed=7)) == n_blocks


def the_same_seed_gives_the_same_lineups(pairing: Pairing) -> None:
    for field in FIELDS:
        assert pairing.pair(field, 50, seed=7) == pairing.pair(field, 50, seed=7)


def another_seed_gives_other_lineups(pairing: Pairing) -> None:
    field = Field(11, 2)
    assert pairing.pair(field, 30, seed=1) != pairing.pair(field, 30, seed=2)


def every_agent_plays_its_share(pairing: Pairing) -> None:
    """Within a factor of two of the mean, an odd field too, after forty blocks an agent."""
    for field in FIELDS:
        n_blocks = 40 * field.n_agents
        played = Counter(a for lineup in pairing.pair(field, n_blocks, seed=7) for a in lineup)
        mean = n_blocks * field.n_seats / field.n_agents
        assert all(mean / 2 < played[agent] < mean * 2 for agent in range(field.n_agents))


def all_agents_are_compared_with_each_other(pairing: Pairing) -> None:
    """Connect the field by its lineups, or nobody could say which of two agents is better."""
    for field in FIELDS:
        if field.n_seats > 1:
            reached = {0}
            lineups = pairing.pair(field, 40 * field.n_agents, seed=7)
            for _ in range(field.n_agents):
                for lineup in lineups:
                    if reached & set(lineup):
                        reached |= set(lineup)
            assert len(reached) == field.n_agents


def a_negative_number_of_blocks_is_refused(pairing: Pairing) -> None:
    with pytest.raises(PairingError, match="n_blocks must be 0 or more, got -1"):
        pairing.pair(Field(5, 2), -1, seed=0)


CHECKS: list[Callable[[Pairing], None]] = [
    lineups_have_distinct_agents_of_the_field,
    there_are_as_many_blocks_as_asked_for,
    the_same_seed_gives_the_same_lineups,
    another_seed_gives_other_lineups,
    every_agent_plays_its_share,
    all_agents_are_compared_with_each_other,
    a_negative_number_of_blocks_is_refused,
]
