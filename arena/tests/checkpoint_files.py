"""Files of checkpoints: right ones, and ones that lie."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from arena import checkpoints
from arena.checkpoints import Seal

Write = Callable[[bytes], Path]

SEAL = Seal("mlp", {"hidden": "64,64", "deep": True, "rate": 0.5}, "connect_four", (3, 6, 7), 7)
TENSORS: dict[str, Any] = {
    "body.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
    "body.bias": np.ones(3, dtype=np.float16),
}
PLAIN = save(TENSORS, {"format": "pt"})


def framed(header: object, data: bytes = b"", *, claim: int | None = None) -> bytes:
    """Return a file of that header, which may lie about its own length."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if claim is None else claim).to_bytes(8, "little") + text + data


def entry(*offsets: Any, dtype: Any = "F32", shape: Any = (1,)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


def sealed_as(**changes: str | None) -> bytes:
    """Return a file whose seal has those metadata instead; None leaves one out."""
    metadata = {**checkpoints._seal_to_metadata(SEAL), **changes}
    return save(TENSORS, {key: text for key, text in metadata.items() if text is not None})
