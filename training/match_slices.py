"""A slice of a run that plays matches: one version learns from its own and becomes the next.

Weights, state and the end are one report: a slice that is killed before it has changed nothing and
is ordered again with the same matches, and after it the next version has to play first.
"""

from typing import cast

from arena.train_messages import TrainOrder
from training.base import MatchLearner, Metrics
from training.errors import TrainingError
from training.slices import Reporter, begin_learner


def train_on_matches(order: TrainOrder, reporter: Reporter) -> None:
    """Learn from the matches of an order; of a run that begins, publish what is to play first.

    Raises TrainingError, TrajectoryError, ParameterError.
    """
    learner = cast(MatchLearner, begin_learner(order, reporter.files))
    reporter.send(learner)
    metrics: Metrics = {}
    if order.state:
        if not order.files:
            raise TrainingError(f"slice {order.slice} has no matches to learn from")
        pieces = reporter.files.fetch_data(order.files)
        metrics = learner.learn_matches(pieces, checkpoint=order.checkpoint)
    reporter.send(
        learner,
        weights=reporter.put_weights(learner),
        state=reporter.files.put(learner.save()),
        metrics=metrics,
        is_last=True,
    )
