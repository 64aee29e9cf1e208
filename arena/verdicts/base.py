"""What every question shares: its terms, its verdict, and why a campaign ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Protocol

from arena.errors import ArenaError
from arena.parameters import Parameter, Value
from arena.verdicts.beliefs import Belief

MAX_ERROR = 0.5
MIN_AGENTS = 2


class VerdictError(ArenaError):
    """A question, test, budget or scale with terms that are out of range."""


def check_field(n_agents: int) -> None:
    """Raise VerdictError for a field in which there is nothing to compare."""
    if n_agents < MIN_AGENTS:
        raise VerdictError(f"a question needs {MIN_AGENTS} agents or more, got {n_agents}")


class StopReason(StrEnum):
    """Why a campaign ended."""

    # The values are stored with campaigns and sent to clients: they must not change.
    # The answer is surer than asked for.
    DECIDED = "decided"
    # What could be wrong about it is smaller than the indifference margin.
    WITHIN_MARGIN = "within_margin"
    # No order of the kind that was asked for exists: agents beat each other in a circle.
    NO_ORDER = "no_order"
    # The likeliest answer when the budget was spent; its probability says how likely.
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True)
class Terms:
    """What the asker wants.

    error: the probability that the verdict may be wrong. margin: the gap in rating that makes no
    difference to the asker (see scale for Elo and points of win rate). parameters: those of the
    question, as read_parameters returns them.
    """

    error: float = 0.05
    margin: float = 0.0
    parameters: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no campaign can keep to."""
        if not 0 < self.error < MAX_ERROR:
            raise VerdictError(f"error must be between 0 and {MAX_ERROR}, got {self.error!r}")
        if not (isfinite(self.margin) and self.margin >= 0):
            raise VerdictError(f"margin must be finite and 0 or more, got {self.margin!r}")

    def safe_error(self, n_agents: int, *, expects_departures: bool = False) -> float:
        """Return the error to judge a field by: smaller in a small one, whose spread is unsure.

        The spread of n agents is fitted to n - 1 differences. Without this, simulated campaigns of
        two and three close agents are wrong in 5.5 % where 5 % are allowed, those of ten in 3 %.
        expects_departures: the belief takes it for granted that pairs depart from the ratings,
        which makes it as much more careful in all but small fields.
        """
        # Half of it for two agents, nearly all of it for many.
        share = 1 - 1 / n_agents
        return self.error * (max(share, 1 - 3 / n_agents**2) if expects_departures else share)


@dataclass(frozen=True)
class Verdict:
    """The end of a campaign.

    statement: with a {} for each subject, in their order, or a {n} for each mention of the n-th.
    subjects: indices of agents. probability: that the statement is true. steps: of a ranking,
    P(a subject is better than the next one) for the first pairs of neighbours; empty for other
    questions. upsets: of a ranking that is no order, who beats whom that stands before it.
    """

    statement: str
    subjects: tuple[int, ...]
    probability: float
    why: StopReason
    steps: tuple[float, ...] = ()
    upsets: tuple[tuple[int, int], ...] = ()

    def format_statement(self, names: Sequence[str] | Mapping[int, str]) -> str:
        """Return the statement with the names of the agents, by index; of its subjects at least."""
        return self.statement.format(*(names[agent] for agent in self.subjects))


class Question(Protocol):
    """Something to find out about a field; a catalog file offers one as QUESTION."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What a person reads."""
        ...

    @property
    def parameters(self) -> Sequence[Parameter]:
        """What it takes besides error and margin."""
        ...

    def check(self, terms: Terms, n_agents: int) -> None:
        """Raise VerdictError unless the terms fit a field of so many agents."""
        ...

    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        """Return the verdict, or None to go on. Never OUT_OF_BUDGET."""
        ...

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        """Return the likeliest answer so far: OUT_OF_BUDGET."""
        ...


def find_expected_departures(question: Question, n_agents: int, *, is_checked: bool) -> float:
    """Return how far a question's belief takes it for granted that pairs depart from the ratings.

    As a part of their spread, the scale of what is thought; 0 unless the question says so itself,
    as a plug-in need not. is_checked: whether pairs whose ratings are far apart are sent to meet.
    """
    expect = getattr(question, "expect_departures", None)
    return float(expect(n_agents, is_checked=is_checked)) if expect else 0.0
