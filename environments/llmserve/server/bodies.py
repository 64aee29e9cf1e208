"""What the HTTP routes take, checked field by field before anything is done."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from llmserve_env.episode import HIGHEST_SEED
from llmserve_env.models import Flag, Number, ServeAction, Whole
from llmserve_env.simulator.settings import TIERS
from llmserve_env.simulator.workload import N_WINDOWS
from server.environment import LONGEST_ID

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
Seed = Annotated[Whole, Field(ge=0, le=HIGHEST_SEED)]


def _read_flag(value: Any) -> Any:
    return bool(value) if type(value) is int and value in (0, 1) else value


LoggedFlag = Annotated[Flag, BeforeValidator(_read_flag)]
LoggedAction = tuple[
    Annotated[Whole, Field(ge=1, le=512)],
    Annotated[Number, Field(ge=0.1, le=1.0)],
    Annotated[Whole, Field(ge=0, le=8)],
    Annotated[Whole, Field(ge=0, le=len(TIERS) - 1)],
    LoggedFlag,
    LoggedFlag,
]


class ResetBody(BaseModel):
    """Which episode to begin."""

    model_config = ConfigDict(extra="forbid")

    seed: Seed | None = None
    episode_id: Name | None = None
    task_id: str | None = None


class StepBody(BaseModel):
    """An action. timeout_s and request_id are OpenEnv's and change nothing here."""

    model_config = ConfigDict(extra="forbid")

    action: ServeAction
    timeout_s: Annotated[Number, Field(gt=0)] | None = None
    request_id: Name | None = None


class EpisodeLog(BaseModel):
    """An episode to replay; whatever else a log holds, as rewards, is not looked at.

    actions: of each window batch cap, share of the KV cache, depth, index of the tier, split and
    priority.
    """

    version: Literal[1] = 1
    task_id: str
    seed: Seed
    actions: Annotated[list[LoggedAction], Field(min_length=N_WINDOWS, max_length=N_WINDOWS)]


class GraderBody(BaseModel):
    """What to grade: a log, or without one the session's episode."""

    model_config = ConfigDict(extra="forbid")

    episode_log: EpisodeLog | None = None
