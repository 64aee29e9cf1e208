"""What every adaptive pairing must keep to."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from arena.conformance.base import expect_error, require
from arena.conformance.pairings import require_lineup
from arena.conformance.standings import in_flight, standing
from arena.errors import ParameterError
from arena.pairing.base import AdaptivePairing, Field, Lineup, Meeting, PairingError, Standing
from arena.ratings.counts import Ints

FIELDS = [Field(n_agents, n_seats) for n_seats in (1, 2, 3, 5) for n_agents in (5, 6, 11, 64)]
FIELDS += [Field(2, 2), Field(3, 2), Field(3, 3)]
# Of the fields above one whose agents are more than play at once, and not too many to draw.
N_MEDIUM = 11
N_TURNS, N_TURNS_TO_THE_END = 8, 60


def make_standing(field: Field) -> Standing:
    """Return what is known after eight random results of each agent, the lower index better."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, field.n_agents, 8 * field.n_agents)
    second = (first + rng.integers(1, field.n_agents, len(first))) % field.n_agents
    lead = (second - first) / field.n_agents + rng.normal(0, 0.5, len(first))
    results: Ints = np.stack([first, second, np.sign(lead).astype(np.int64)], axis=1)
    return standing(field, results)


def list_accepted(pairing: AdaptivePairing) -> list[Field]:
    """Return the fields that a pairing does not refuse."""
    return [field for field in FIELDS if pairing.refusal(field) is None]


def lineups_have_distinct_agents_of_the_field(pairing: AdaptivePairing) -> None:
    """Check that a lineup is of n_seats distinct ints of the field."""
    for field in list_accepted(pairing):
        for table in (standing(field), make_standing(field)):
            for lineup in pairing.choose(table, 40, seed=7):
                require_lineup(lineup, field)


def there_are_never_more_blocks_than_asked_for(pairing: AdaptivePairing) -> None:
    """As many as asked for, where it need not wait for the tournament's own results."""
    for field in list_accepted(pairing):
        for n_blocks in (0, 1, 17, 200):
            n_chosen = len(pairing.choose(make_standing(field), n_blocks, seed=7))
            limit = f"choose() must return at most {n_blocks} lineups, returned {n_chosen}"
            require(n_chosen <= n_blocks, limit)
            is_full = n_chosen == n_blocks or pairing.needs_meetings
            require(is_full, f"choose() must return {n_blocks} lineups, returned {n_chosen}")


def it_begins_before_the_first_result(pairing: AdaptivePairing) -> None:
    """Check that choose() needs no results."""
    for field in list_accepted(pairing):
        chosen = pairing.choose(standing(field), 5, seed=1)
        require(chosen, f"choose() must return lineups of {field} before there is any result")


def the_same_seed_gives_the_same_lineups(pairing: AdaptivePairing) -> None:
    """Check that choose() draws from its seed alone."""
    for field in list_accepted(pairing):
        table = make_standing(field)
        is_same = pairing.choose(table, 30, seed=7) == pairing.choose(table, 30, seed=7)
        require(is_same, "the same standing and seed must give the same lineups")


def nothing_is_changed(pairing: AdaptivePairing) -> None:
    """Check that choose() leaves the arrays of the standing alone."""
    table = make_standing(list_accepted(pairing)[1])
    columns = [column for column in (table.mu, table.sd, table.covariance) if column is not None]
    before = [column.tobytes() for column in columns]
    pairing.choose(table, 30, seed=7)
    is_same = [column.tobytes() for column in columns] == before
    require(is_same, "choose() must not change the arrays of the standing: copy them")


def matches_in_flight_are_known(pairing: AdaptivePairing) -> None:
    """Choose otherwise, or wait, when what it chose is in flight."""
    fields = [field for field in list_accepted(pairing) if field.n_agents == N_MEDIUM]
    table = make_standing(fields[0])
    first = pairing.choose(table, 5, seed=7)
    meetings = [Meeting(lineup, 0, None) for lineup in first * 20]
    waiting = replace(table, n_in_flight=in_flight(meetings), meetings=meetings)
    chosen = {frozenset(lineup) for lineup in pairing.choose(waiting, 5, seed=7)}
    before = {frozenset(lineup) for lineup in first}
    is_other = len(chosen & before) < len(before)
    require(is_other, "choose() must choose otherwise, or wait, while its lineups are in flight")


def every_agent_plays(pairing: AdaptivePairing) -> None:
    """Play a tournament in which the lower index wins: nobody is left out, however odd the field.

    With its blocks in flight half of the time.
    """
    for field in list_accepted(pairing):
        played = {agent for lineup in _play_tournament(pairing, field) for agent in lineup}
        idle = set(range(field.n_agents)) - played
        require(not idle, f"every agent must play: {sorted(idle)} of {field} never do")


def _play_tournament(pairing: AdaptivePairing, field: Field) -> list[Lineup]:
    """Return all lineups of a tournament until it is over, or of some turns where it never is."""
    meetings: list[Meeting] = []
    results: list[tuple[int, int, int]] = []
    for turn in range(N_TURNS_TO_THE_END if pairing.needs_meetings else N_TURNS):
        table = standing(field, np.array(results, np.int64).reshape(-1, 3), meetings)
        chosen = pairing.choose(table, max(4, field.n_agents // 2), seed=turn)
        if not chosen and not in_flight(meetings):
            change = "is_over() must be True where nothing is in flight and none is chosen"
            require(pairing.is_over(table), change)
            break
        meetings += [Meeting(lineup, turn, None) for lineup in chosen]
        meetings, more = _close_half(meetings, turn)
        results += more
    return [meeting.lineup for meeting in meetings]


def _close_half(
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
    """Check that choose() raises PairingError for less than 0 blocks."""
    with expect_error(PairingError, "choose() must raise PairingError for n_blocks=-1"):
        pairing.choose(standing(Field(5, 2)), -1, seed=0)


def a_field_without_pairs_is_refused(pairing: AdaptivePairing) -> None:
    """Check that choose() refuses the fields that refusal() refuses, such as one of one seat.

    Where nobody meets anybody only a pairing can choose that says who plays the next game seed.
    """
    for field in (field for field in FIELDS if pairing.refusal(field)):
        with expect_error(PairingError, "choose() must raise PairingError for a field it refuses"):
            pairing.choose(standing(field), 3, seed=0)


def its_parameters_are_checked(pairing: AdaptivePairing) -> None:
    """Check that configured() takes the declared parameters and refuses others by name."""
    defaults = {parameter.name: parameter.default for parameter in pairing.parameters}
    table = make_standing(list_accepted(pairing)[0])
    same = pairing.configured(defaults)
    is_same = same.choose(table, 9, seed=2) == pairing.choose(table, 9, seed=2)
    require(is_same, "configured() with the defaults must choose alike")
    with expect_error(ParameterError, "configured() must refuse 'nonsense'", name="nonsense"):
        pairing.configured({"nonsense": 1})


CHECKS: tuple[Callable[[AdaptivePairing], None], ...] = (
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
)
