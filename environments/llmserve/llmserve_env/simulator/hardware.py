# A copy of arena/games/llmserve/hardware.py, made by environments/copy_simulator.py: change that one.
"""What the settings mean on the node: seconds, bytes and tokens. docs/llmserve.md has the sources.

A roofline: an iteration lasts as long as the memory takes to read weights and KV cache, or as the
arithmetic takes for its tokens, whichever is longer.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from llmserve_env.simulator.settings import Settings

# Four NVIDIA A100 SXM of 40 GB.
N_GPUS: Final = 4
FLOPS, BANDWIDTH, MEMORY = 312e12, 1.555e12, 40e9
USED_FLOPS, USED_BANDWIDTH = 0.5, 0.7
PARALLEL_EFFICIENCY: Final = {4: 0.90, 2: 0.95}
RESERVED: Final = 1.5e9
"""Bytes of each GPU that neither weights nor KV cache get."""
DOLLARS_PER_S: Final = N_GPUS * 1.50 / 3600

# Llama 2 70B, and TinyLlama 1.1B with the same vocabulary as its draft.
PARAMETERS, DRAFT_PARAMETERS = 69e9, 1.1e9
KV_BYTES: Final = 327_680.0
DRAFT_BYTES: Final = 2 * DRAFT_PARAMETERS

OVERHEAD_S, DRAFT_OVERHEAD_S = 0.004, 0.001
CHUNK: Final = 512.0
"""Prompt tokens that one iteration takes at most."""
KV_LINK: Final = 200e9
LOADING, RESTART_S = 25e9, 0.3


class Tier(NamedTuple):
    """A precision of the weights.

    weight_bytes: of one parameter; speed: of its arithmetic, FP16 is 1; quality: share of answers
    that are as good as those of FP16.
    """

    weight_bytes: float
    speed: float
    quality: float


TIERS: Final = (Tier(2.0, 1.0, 1.0), Tier(1.0, 1.6, 0.98), Tier(0.53, 0.85, 0.97))


class Deployment(NamedTuple):
    """Settings in seconds, tokens and shares, for the GPUs that decode.

    read_s: reading the weights once; context_s: reading the KV cache of one token; token_s: the
    arithmetic of one token of a prompt; row_s: of one running request, drafts included; fixed_s: of
    an iteration, whatever is in it; pool: tokens that the KV cache holds; memory: share of the
    node's that is taken; shard: bytes of weights on each GPU.
    """

    settings: Settings
    quality: float
    read_s: float
    context_s: float
    token_s: float
    row_s: float
    fixed_s: float
    pool: float
    memory: float
    shard: float

    def iteration_s(self, n_running: float, context: float, n_prompt: float = 0.0) -> float:
        """Return how long an iteration lasts with this many requests, tokens kept and read."""
        reading = self.read_s + context * self.context_s
        computing = n_running * self.row_s + n_prompt * self.token_s
        return max(reading, computing) + self.fixed_s

    def change_s(self, before: "Deployment") -> float:
        """Return for how long the server stands still to come here from another deployment."""
        old, new = before.settings, self.settings
        if (old.tier, old.is_split) == (new.tier, new.is_split):
            return 0.0
        return self.shard / LOADING + RESTART_S


@lru_cache(maxsize=100_000)
def deploy(settings: Settings) -> Deployment:
    """Return what the settings mean; weights that do not fit twice are not split."""
    tier, depth = TIERS[settings.tier], settings.speculation_depth
    weights = PARAMETERS * tier.weight_bytes
    draft = DRAFT_BYTES if depth else 0.0
    n_gpus = N_GPUS // 2 if settings.is_split else N_GPUS
    free = n_gpus * (MEMORY - RESERVED) - weights - draft
    if settings.is_split and free <= 0:
        return deploy(settings._replace(is_split=False))
    efficiency = PARALLEL_EFFICIENCY[n_gpus]
    flops = n_gpus * FLOPS * USED_FLOPS * efficiency
    bandwidth = n_gpus * BANDWIDTH * USED_BANDWIDTH * efficiency
    token_s = 2 * PARAMETERS / (flops * tier.speed)
    pool = settings.kv_budget_fraction * free
    taken = N_GPUS // n_gpus * weights + draft + N_GPUS * RESERVED + pool
    return Deployment(
        settings=settings,
        quality=tier.quality,
        read_s=weights / bandwidth,
        context_s=KV_BYTES / bandwidth,
        token_s=token_s,
        row_s=(depth + 1) * token_s + depth * 2 * DRAFT_PARAMETERS / flops,
        fixed_s=OVERHEAD_S + depth * (DRAFT_BYTES / bandwidth + DRAFT_OVERHEAD_S),
        pool=pool / KV_BYTES,
        memory=taken / (N_GPUS * MEMORY),
        shard=weights / n_gpus,
    )


def expect_tokens(acceptance: float, depth: int) -> float:
    """Return how many tokens an iteration yields for one request.

    Source: Leviathan, Kalman, Matias: Fast Inference from Transformers via Speculative Decoding
    (2023), equation 1.
    """
    # By Horner's rule: without a power, whose last bit may differ between machines.
    tokens = 1.0
    for _ in range(depth):
        tokens = 1.0 + acceptance * tokens
    return tokens
