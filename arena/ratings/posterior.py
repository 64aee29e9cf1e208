"""The posterior mode of a field and the doubt there, by Newton's method."""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from arena.ratings import information_matrix
from arena.ratings.base import RatingError
from arena.ratings.counts import Floats, Ints
from arena.ratings.information_matrix import InformationMatrix, Uncertainty
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.teamlikelihood import TeamLikelihood

_STEP_TOLERANCE = 1e-9
_ROUGH_TOLERANCE = 1e-3
_CLOSE_TOLERANCE = 1e-4
# Steps below this shrink quadratically; one that does not is rounding noise.
_ROUNDING = 1e-5
# How much of its own size the objective may fall: its rounding.
_SLACK = 1e-10
_MAX_STEPS = 200

Likelihood = PairLikelihood | TeamLikelihood


class Scales(NamedTuple):
    """By how much the spread of single agents is wider than that of the field.

    of_agents: float64 [n]. log_share: the logarithm of how likely so much is before any result.
    """

    of_agents: Floats
    log_share: float


@dataclass(frozen=True)
class Prior:
    """What is thought before any result: N(0, spread^2), N(parent, link_spread^2) with a parent.

    children, parents: int64 [k]. seat_spread: of the advantage of the first seat, about 0. scales:
    None where each agent is of the spread of the field.
    """

    children: Ints
    parents: Ints
    link_spread: float
    # Some games are all but won by who begins.
    seat_spread: float = 3.0
    scales: Scales | None = None

    def precision(self, spread: float, likelihood: Likelihood) -> Floats:
        """Return one number an agent, 0 for children, and one for the seat where it is fitted."""
        precision = np.full(likelihood.n_agents + likelihood.is_seated, 1 / spread**2)
        if self.scales is not None:
            precision[: likelihood.n_agents] /= self.scales.of_agents**2
        # The prior of a child is its link; the spread is that of agents without a parent.
        precision[self.children] = 0.0
        if likelihood.is_seated:
            precision[-1] = self.seat_precision
        return precision

    @property
    def seat_precision(self) -> float:
        """Of the advantage of the first seat."""
        return 1 / self.seat_spread**2


NO_LINKS = Prior(np.empty(0, np.int64), np.empty(0, np.int64), 1.0)


@dataclass(frozen=True)
class Posterior:
    """The mode z [n] under the prior N(0, spread^2), and the uncertainty there.

    seat: the advantage of the first seat, where it is fitted.
    """

    z: Floats
    uncertainty: Uncertainty
    spread: float
    seat: float | None = None


@dataclass(frozen=True)
class _ObjectivePoint:
    """The logarithm of the posterior at z, its gradient and minus its second derivatives."""

    z: Floats
    value: float
    gradient: Floats
    information: InformationMatrix


class Objective:
    """The logarithm of the posterior of a likelihood and a prior, but for the spread."""

    def __init__(self, likelihood: Likelihood, prior: Prior = NO_LINKS) -> None:
        """Add the links to parents to the pairs that met."""
        self.likelihood, self.prior = likelihood, prior
        self.n_agents = likelihood.n_agents
        self._i = np.concatenate([likelihood.i, prior.children])
        self._j = np.concatenate([likelihood.j, prior.parents])
        self._link = np.full(len(prior.children), 1 / prior.link_spread**2)

    @property
    def is_sparse(self) -> bool:
        """Whether the field has more than DENSE_LIMIT agents, too many for a dense matrix."""
        return self.n_agents > information_matrix.DENSE_LIMIT

    def with_margin(self, margin: float) -> Self:
        """Return the same objective where draws are differences within another margin."""
        changed = copy(self)
        changed.likelihood = copy(self.likelihood)
        changed.likelihood.margin = margin
        return changed

    def with_scales(self, scales: Scales) -> Self:
        """Return the same objective where these agents may be as much further from all others."""
        changed = copy(self)
        changed.prior = replace(self.prior, scales=scales)
        return changed

    def with_weight(self, weight: float) -> Self:
        """Return the same objective where each result weighs so many times as much."""
        changed = copy(self)
        changed.likelihood = copy(self.likelihood)
        changed.likelihood.times = weight * self.likelihood.times
        return changed

    @cached_property
    def _pattern(self) -> information_matrix.SparsityPattern:
        return information_matrix.SparsityPattern(self._i, self._j, self.n_agents)

    def at(self, z: Floats, spread: float, *, is_rough: bool = False) -> _ObjectivePoint:
        """Return the objective at z: float64 [n], [n + 1] with a seat term."""
        point, prior = self.likelihood.at(z), self.prior
        precision = prior.precision(spread, self.likelihood)
        apart = z[prior.children] - z[prior.parents]
        # A link is a spring between child and parent: a slope at both ends, curvature between.
        slope = self._link * apart
        gradient = point.gradient - precision * z
        np.subtract.at(gradient, prior.children, slope)
        np.add.at(gradient, prior.parents, slope)
        value = point.value - float(precision @ z**2) / 2 - float(slope @ apart) / 2
        curvature = np.concatenate([point.curvature, self._link])
        matrix = self._agent_information(curvature, precision[: self.n_agents], is_rough=is_rough)
        if isinstance(self.likelihood, PairLikelihood) and self.likelihood.is_seated:
            cross = self.likelihood.seat_curvature(point.curvature)
            own = float(point.curvature.sum() + precision[-1])
            matrix = information_matrix.BorderedInformation(matrix, cross, own)
        return _ObjectivePoint(z, value, gradient, matrix)

    def _agent_information(
        self, curvature: Floats, precision: Floats, *, is_rough: bool
    ) -> InformationMatrix:
        """Return the information by the curvature of each pair, then of each link."""
        if self.is_sparse:
            return information_matrix.SparseInformation(
                self._pattern, curvature, precision, is_rough=is_rough
            )
        n = self.n_agents
        return information_matrix.DenseInformation(self._i, self._j, curvature, n, precision)


class TeamObjective(Objective):
    """The same of a likelihood of teams, each row of which pulls at several agents."""

    @cached_property
    def _rows(self) -> information_matrix.DesignRows:
        """The lead of each row and of each child over its parent, by the skills."""
        k = len(self._i)
        ends = np.arange(0, 2 * k + 1, 2), np.stack([self._i, self._j], axis=1).ravel()
        # A link is a row as well: 1 for the child, -1 for its parent.
        links = csr_array((np.tile([1.0, -1.0], k), ends[1], ends[0]), shape=(k, self.n_agents))
        return information_matrix.DesignRows(csr_array(vstack([self._of_teams, links])))

    def __init__(self, likelihood: TeamLikelihood, prior: Prior = NO_LINKS) -> None:
        """Keep the rows of the likelihood beside the links to parents."""
        super().__init__(likelihood, prior)
        self._of_teams = likelihood.design

    def _agent_information(
        self, curvature: Floats, precision: Floats, *, is_rough: bool
    ) -> InformationMatrix:
        if self.is_sparse:
            return information_matrix.SparseRows(
                self._rows, curvature, precision, is_rough=is_rough
            )
        return information_matrix.DenseRows(self._rows, curvature, precision)


def make_objective(likelihood: Likelihood, prior: Prior = NO_LINKS) -> Objective:
    """Return the objective of a likelihood of pairs or of teams, and a prior."""
    if isinstance(likelihood, TeamLikelihood):
        return TeamObjective(likelihood, prior)
    return Objective(likelihood, prior)


def find_mode(
    objective: Objective, spread: float, start: Floats, *, is_rough: bool = False
) -> Posterior:
    """Return the mode, which is unique: the objective is strictly concave. Raises RatingError.

    start: float64 [n], with a seat term [n + 1]; it changes the number of steps, and the result by
    less than 1e-9. is_rough: the mode to a ten-thousandth, of a large field a
    thousandth or so, to go on from there.
    """
    tolerance = _STEP_TOLERANCE
    if is_rough:
        # Of a dense field a step that is left out costs little of what the next ones go by.
        tolerance = _ROUGH_TOLERANCE if objective.is_sparse else _CLOSE_TOLERANCE
    here, last = objective.at(start, spread, is_rough=is_rough), np.inf
    for _ in range(_MAX_STEPS):
        # Newton's: far from the mode it may overshoot, so it is halved until it climbs.
        step = here.information.solve(here.gradient)
        trial = objective.at(here.z + step, spread, is_rough=is_rough)
        # At the mode itself the value may fall by rounding, which is no reason to halve.
        while trial.value < here.value - _SLACK * abs(here.value):
            step = step / 2
            trial = objective.at(here.z + step, spread, is_rough=is_rough)
        here = trial
        size = float(np.abs(step).max())
        if size < tolerance or (size < _ROUNDING and size > last / 2):
            n, uncertainty = objective.n_agents, here.information.estimate_uncertainty()
            seat = float(here.z[-1]) if len(here.z) > n else None
            return Posterior(here.z[:n], uncertainty, spread, seat)
        last = size
    raise RatingError(f"the ratings of {len(start)} agents did not settle in {_MAX_STEPS} steps")
