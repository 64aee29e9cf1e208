"""LLMServe as it is known by its URL alone: docs/gameservers.md, "Environments of OpenEnv"."""

from arena.games.openenv.game import OpenEnvGame
from arena.games.openenv.numbers import Log

GAME = OpenEnvGame(
    "llmserve_over_openenv",
    title="LLMServe, over OpenEnv",
    action={
        "batch_cap": (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512),
        "kv_budget_fraction": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        "speculation_depth": range(9),
        "quantization_tier": ("FP16", "INT8", "INT4"),
        "prefill_decode_split": (False, True),
        "priority_routing": (False, True),
    },
    observation={
        "queue_depth": Log(5),
        "active_requests": Log(5),
        "kv_cache_occupancy": 1,
        "mean_prompt_length": Log(8),
        "p99_ttft_ms": Log(9),
        "p50_itl_ms": Log(6),
        "slo_compliance_rate": 1,
        "gpu_memory_used_gb": 160,
        "estimated_cost_per_1k": 0.05,
        "request_arrival_rate": Log(4),
        "spec_acceptance_rate": 1,
        "step_index": 90,
    },
    max_steps=90,
    score="state.score",
    score_range=(0.0, 1.0),
    score_margin=0.01,
    reset={"task_id": "static_workload"},
    seed_bits=63,
    is_replayable=True,
)
