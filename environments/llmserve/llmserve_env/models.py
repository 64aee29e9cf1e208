"""What goes over the wire: an action, an observation and the state of an episode."""

from typing import Annotated, Any, Literal

from openenv.core.env_server.types import Action, Observation, State
from pydantic import BeforeValidator, Field

from llmserve_env.simulator.settings import FIRST, TIERS, Settings
from llmserve_env.simulator.simulator import DEAREST, Sight

Tier = Literal["FP16", "INT8", "INT4"]


def _read_whole(value: Any) -> Any:
    """Take 32.0 for 32, as JSON Schema does and as forms of web pages send it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Strict: neither "true" nor "0.5" nor a bool in the place of a number.
Whole = Annotated[int, BeforeValidator(_read_whole), Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]


class ServeAction(Action):
    """How the server runs in the next window; what is left out has its default."""

    batch_cap: Whole = Field(
        default=32, ge=1, le=512, description="Requests that decode together at most."
    )
    kv_budget_fraction: Number = Field(
        default=1.0,
        ge=0.1,
        le=1.0,
        description="Share of the memory beside the weights that the KV cache gets.",
    )
    speculation_depth: Whole = Field(
        default=0, ge=0, le=8, description="Draft tokens before each check of the model."
    )
    quantization_tier: Tier = Field(default="FP16", description="Precision of the weights.")
    prefill_decode_split: Flag = Field(
        default=False, description="Whether two GPUs only read prompts and two only decode."
    )
    priority_routing: Flag = Field(
        default=False, description="Whether the dearer class of requests goes first."
    )

    def to_settings(self) -> Settings:
        """Return the action as the simulator reads it."""
        return Settings(
            self.batch_cap,
            float(self.kv_budget_fraction),
            self.speculation_depth,
            TIERS.index(self.quantization_tier),
            self.prefill_decode_split,
            self.priority_routing,
        )

    @classmethod
    def from_settings(cls, settings: Settings) -> "ServeAction":
        """Return settings of the simulator as an action."""
        batch_cap, kv_budget_fraction, depth, tier, is_split, is_prioritised = settings
        return cls(
            batch_cap=batch_cap,
            kv_budget_fraction=kv_budget_fraction,
            speculation_depth=depth,
            quantization_tier=TIERS[tier],
            prefill_decode_split=is_split,
            priority_routing=is_prioritised,
        )


FIRST_ACTION = ServeAction.from_settings(FIRST)
"""How the server runs before the first window."""


class ServeObservation(Observation):
    """What an operator sees of the last window. Before the first one nothing has come yet."""

    queue_depth: int = Field(default=0, ge=0, description="Requests that wait.")
    active_requests: int = Field(default=0, ge=0, description="Requests that decode.")
    kv_cache_occupancy: float = Field(default=0.0, ge=0, le=1)
    mean_prompt_length: float = Field(default=0.0, ge=0, description="Tokens.")
    p50_ttft_ms: float = Field(default=0.0, ge=0, description="Time to the first token.")
    p99_ttft_ms: float = Field(default=0.0, ge=0)
    p50_itl_ms: float = Field(default=0.0, ge=0, description="Time between two tokens.")
    throughput_tps: float = Field(default=0.0, ge=0, description="Output tokens a second.")
    slo_compliance_rate: float = Field(
        default=1.0, ge=0, le=1, description="Weighted share of requests within both limits."
    )
    gpu_memory_used_gb: float = Field(default=0.0, ge=0)
    estimated_cost_per_1k: float = Field(
        default=DEAREST, ge=0, description="US dollars for 1,000 output tokens."
    )
    request_arrival_rate: float = Field(default=0.0, ge=0, description="Requests a second.")
    spec_acceptance_rate: float = Field(
        default=0.0, ge=0, le=1, description="How likely a draft token is right."
    )
    eviction_events: int = Field(
        default=0, ge=0, description="Requests thrown out of the KV cache."
    )
    step_index: int = Field(default=0, ge=0, description="Windows that have run.")
    task_id: str = ""


_WHOLE_FIELDS = ("queue_depth", "active_requests", "eviction_events")


def observe(sight: Sight) -> dict[str, float]:
    """Return the simulator's view as fields of an observation."""
    fields = sight._asdict()
    return {**fields, **{name: round(fields[name]) for name in _WHOLE_FIELDS}}


def read_sight(observation: ServeObservation) -> Sight:
    """Return an observation as the simulator has it, but for what was rounded."""
    return Sight(*(getattr(observation, name) for name in Sight._fields))


class ServeState(State):
    """How far an episode is. score: once it is over."""

    task_id: str = ""
    seed: int = 0
    max_steps: int = 0
    done: bool = False
    mode: Literal["sim", "real"] = "sim"
    cumulative_reward: float = 0.0
    score: float | None = None
