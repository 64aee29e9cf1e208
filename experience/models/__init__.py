"""The tables of this app."""

from experience.models.dataset import Dataset, DatasetShard, DatasetSource
from experience.models.release import Release
from experience.models.round import Round
from experience.models.segment import ChunkIndex, Segment
from experience.models.training_run import TrainingRun

__all__ = [
    "ChunkIndex",
    "Dataset",
    "DatasetShard",
    "DatasetSource",
    "Release",
    "Round",
    "Segment",
    "TrainingRun",
]
