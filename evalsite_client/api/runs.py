"""Runs of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from evalsite_client.api.shared import TrainingRunState
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class TrainingRun:
    """A run, how far it is, and why it ended.

    name: Also of its checkpoints.
    parameters: Of the algorithm.
    dataset: What it learns from; empty: uploads.
    max_steps: It ends once it has learned from these.
    slice_s: Seconds of one slice.
    margin: By how much a release may be worse than its best ancestor: in mean score of a game
        of one seat, else in units of rating.
    release_s: Seconds between two candidates for a release.
    release_steps: Or so many steps.
    budget: Matches that judging a candidate may cost.
    problem: Why it failed, or what broke slices that are tried again.
    n_steps: Learned from.
    version: The latest; -1: none yet.
    metrics: As its trainer reported last.
    slice: Slices ordered so far.
    n_lost: Slices lost in a row.
    trainer: Who reported last.
    reported_at: When its trainer was heard last.
    """

    id: int
    name: str
    game: str
    algorithm: str
    parameters: Mapping[str, Any]
    dataset: str
    seed: int
    max_steps: int
    slice_s: float
    margin: float
    release_s: float
    release_steps: int
    budget: int
    state: TrainingRunState
    problem: str
    n_steps: int
    version: int
    metrics: Mapping[str, Any]
    slice: int
    n_lost: int
    trainer: str
    created_by: str
    created_at: datetime
    reported_at: datetime | None
    ended_at: datetime | None


class Runs(Calls):
    """Training runs, the newest first."""

    def list(
        self,
        *,
        game: str | None = None,
        state: TrainingRunState | None = None,
        page_size: int | None = None,
    ) -> Rows[TrainingRun]:
        """Yield runs, fetched page by page as they are asked for."""
        return self._rows(
            TrainingRun, "runs", {"game": game, "state": state, "page_size": page_size}
        )

    def start(
        self,
        *,
        name: str,
        game: str,
        algorithm: str = "appo",
        parameters: Mapping[str, Any] | None = None,
        dataset: str | None = None,
        seed: int = 0,
        max_steps: int = 200000,
        slice_s: float = 60.0,
        margin: float = 1.0,
        release_s: float = 60.0,
        release_steps: int = 50000,
        budget: int = 200,
        key: str | None = None,
    ) -> TrainingRun:
        """Begin a run: a trainer takes its first slice as soon as one is free.

        name: Also of the run's checkpoints.
        parameters: Of the algorithm; what is left out: its own.
        dataset: By its name: what bc and cql learn from, again and again until max_steps;
            without one: uploads.
        max_steps: The run ends once it has learned from so many.
        slice_s: Seconds that a trainer keeps a run before the next may take it.
        margin: By how much a release may be worse than its best ancestor: in mean score of a
            game of one seat, else in units of rating.
        release_s: Seconds after which the newest version becomes a candidate for a release.
        release_steps: Or steps that it has learned from since the last one.
        budget: Matches that judging a candidate may cost.
        """
        return self._post(
            TrainingRun,
            "runs",
            {
                "name": name,
                "game": game,
                "algorithm": algorithm,
                "parameters": parameters,
                "dataset": dataset,
                "seed": seed,
                "max_steps": max_steps,
                "slice_s": slice_s,
                "margin": margin,
                "release_s": release_s,
                "release_steps": release_steps,
                "budget": budget,
            },
            key=key,
        )

    def get(self, run: str) -> TrainingRun:
        """Return one run."""
        return self._get(TrainingRun, f"runs/{quote(run, safe='')}")

    def resume(
        self, run: str, *, reason: str = "", max_steps: int | None = None, key: str | None = None
    ) -> TrainingRun:
        """Let a run that failed, was stopped or is done go on from the state that it left.

        max_steps: It ends once it has learned from so many in all; left out: as it was begun.
        """
        return self._post(
            TrainingRun,
            f"runs/{quote(run, safe='')}/resume",
            {"reason": reason, "max_steps": max_steps},
            key=key,
        )

    def stop(self, run: str, *, reason: str = "", key: str | None = None) -> TrainingRun:
        """End a run; what it has published stays, and its last version is still judged."""
        return self._post(
            TrainingRun, f"runs/{quote(run, safe='')}/stop", {"reason": reason}, key=key
        )
