"""What every adaptive pairing must keep to; each check raises AssertionError where it does not."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from arena.errors import ParameterError
from arena.pairing.base import AdaptivePairing, Field, Lineup, Meeting, PairingError, Standing
from arena.pairing.tests.standings import in_flight, standing
from arena.ratings.tests.simulated import simulated

FIELDS = [Field(n_agents, n_seats) for n_seats in (2, 3, 5) for n_agents in (5, 6, 11, 64)]
FIELDS += [Field(2, 2), Field(3, 2), Field(3, 3)]
N_TURNS, N_TURNS_TO_THE_END = 8, 60


def known(field: Field) -> Standing:
    return standing(field, simulated(field.n_agents, 8 * field.n_agents, seed=3).results)


def accepted(pairing: AdaptivePairing) -> list[Field]:
    return [field for field in FIELDS if pairing.refusal(field) is None]


def lineups_have_distinct_agents_of_the_field(pairing: AdaptivePairing) -> None:
    for field in accepted(pairing):
        for lineup in pairing.choose(standing(field), 40, seed=7) + pairing.choose(
            known(field), 40, seed=7
        ):
            assert len(set(lineup)) == len(lineup) == field.n_seats
            assert all(type(agent) is int and 0 <= agent < field.n_agents for agent in lineup)


def there_are_never_more_blocks_than_asked_for(pairing: AdaptivePairing) -> None:
    """As many as asked for, where it need not wait for the tournament's own results."""
    for field in accepted(pairing):
        for n_blocks in (0, 1, 17, 200):
            n_chosen = len(pairing.choose(known(field), n_blocks, seed=7))
            assert n_chosen <= n_blocks
            assert n_chosen == n_blocks or pairing.needs_meetings


def it_begins_before_the_first_result(pairing: AdaptivePairing) -> None:
    for field in accepted(pairing):
        assert pairing.choose(standing(field), 5, seed=1)


def the_same_seed_gives_the_same_lineups(pairing: AdaptivePairing) -> None:
    for field in accepted(pairing):
        here = known(field)
        assert pairing.choose(here, 30, seed=7) == pairing.choose(here, 30, seed=7)


def nothing_is_changed(pairing: AdaptivePairing) -> None:
    here = known(FIELDS[1])
    assert here.covariance is not None
    columns = (here.mu, here.sd, here.covariance)
    before = [column.tobytes() for column in columns]
    pairing.choose(here, 30, seed=7)
    assert [column.tobytes() for column in columns] == before


def matches_in_flight_are_known(pairing: AdaptivePairing) -> None:
    """Choose otherwise, or wait, when what it chose is in flight."""
    field = Field(11, 2)
    here = known(field)
    first = pairing.choose(here, 5, seed=7)
    meetings = [Meeting(lineup, 0, None) for lineup in first * 20]
    waiting = replace(here, n_in_flight=in_flight(meetings), meetings=meetings)
    pairs = [{frozenset(lineup) for lineup in pairing.choose(waiting, 5, seed=7)}, set()]
    pairs[1] = {frozenset(lineup) for lineup in first}
    assert len(pairs[0] & pairs[1]) < len(pairs[1])


def every_agent_plays(pairing: AdaptivePairing) -> None:
    """Play a tournament in which the lower index wins: nobody is left out, however odd the field.

    With its blocks in flight half of the time.
    """
    for field in accepted(pairing):
        played = Counter(agent for lineup in tournament(pairing, field) for agent in lineup)
        assert set(played) == set(range(field.n_agents))


def tournament(pairing: AdaptivePairing, field: Field) -> list[Lineup]:
    """Return all lineups of a tournament until it is over, or of some turns where it never is."""
    meetings: list[Meeting] = []
    results: list[tuple[int, int, int]] = []
    for turn in range(N_TURNS_TO_THE_END if pairing.needs_meetings else N_TURNS):
        here = standing(field, np.array(results, np.int64).reshape(-1, 3), meetings)
        chosen = pairing.choose(here, max(4, field.n_agents // 2), seed=turn)
        if not chosen and not in_flight(meetings):
            assert pairing.is_over(here)
            break
        meetings += [Meeting(lineup, turn, None) for lineup in chosen]
        meetings, more = _half_closed(meetings, turn)
        results += more
    return [meeting.lineup for meeting in meetings]


def _half_closed(
    meetings: list[Meeting], turn: int
) -> tuple[list[Meeting], list[tuple[int, int, int]]]:
    """Close every other open block, in other turns all of them."""
    closed: list[Meeting] = []
    results: list[tuple[int, int, int]] = []
    for place, meeting in enumerate(meetings):
        if meeting.points is not None or ((turn + place) % 2 and turn % 3):
            closed.append(meeting)
            continue
        members = sorted(meeting.lineup)
        n = len(members)
        points = tuple(float(n * (n - 1 - members.index(agent))) for agent in meeting.lineup)
        closed.append(Meeting(meeting.lineup, meeting.round, points))
        results += [(i, j, 1) for i in members for j in members if i < j] * n
    return closed, results


def a_negative_number_of_blocks_is_refused(pairing: AdaptivePairing) -> None:
    with pytest.raises(PairingError, match="n_blocks must be 0 or more, got -1"):
        pairing.choose(standing(Field(5, 2)), -1, seed=0)


def a_field_without_pairs_is_refused(pairing: AdaptivePairing) -> None:
    assert pairing.refusal(Field(5, 1))
    with pytest.raises(PairingError, match=pairing.id):
        pairing.choose(standing(Field(5, 1)), 3, seed=0)


def its_parameters_are_checked(pairing: AdaptivePairing) -> None:
    defaults = {parameter.name: parameter.default for parameter in pairing.parameters}
    field = accepted(pairing)[0]
    here = known(field)
    same = pairing.configured(defaults)
    assert same.choose(here, 9, seed=2) == pairing.choose(here, 9, seed=2)
    with pytest.raises(ParameterError, match="is unknown"):
        pairing.configured({"nonsense": 1})


CHECKS: list[Callable[[AdaptivePairing], None]] = [
    lineups_have_distinct_agents_of_the_field,
    there_are_never_more_blocks_than_asked_for,
    it_begins_before_the_first_result,
    the_same_seed_gives_the_same_lineups,
    nothing_is_changed,
    matches_in_flight_are_known,
    every_agent_plays,
    a_negative_number_of_blocks_is_refused,
    a_field_without_pairs_is_refused,
    its_parameters_are_checked,
]
