"""Sealed checkpoints for tests, and a store that holds them without a web server."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

from arena.checkpoints import Seal, hash_file, write_sealed
from arena.parameters import Value
from inference.checkpoint_store import CheckpointStore
from inference.model import fresh, save_sealed
from inference.protocol import CheckpointRef
from inference.tests.file_server import LINK

BOARD = (3, 6, 7)
N_ACTIONS = 7


class Folder:
    """A cache folder to which a test adds checkpoints."""

    def __init__(self, path: Path, site_url: str = "") -> None:
        self.store = CheckpointStore(path, site_url)
        path.mkdir(exist_ok=True)

    def add(
        self,
        architecture: str,
        parameters: Mapping[str, Value],
        *,
        seed: int,
        shape: tuple[int, ...] = BOARD,
        scale: float = 1.0,
    ) -> CheckpointRef:
        """Store a fresh network, its weights multiplied by scale; with 1e30 it overflows."""
        seal = Seal(architecture, dict(parameters), "connect_four", shape, N_ACTIONS)
        written = self.store.folder / f"new-{seed}"
        module = fresh(seal, seed=seed)
        with torch.no_grad():
            for weight in module.parameters():
                weight.mul_(scale)
        save_sealed(module, written, seal)
        return self.adopt(written)

    def add_foreign(self) -> CheckpointRef:
        """Store a checkpoint of an architecture that nothing here builds."""
        plain, sealed = self.store.folder / "plain", self.store.folder / "foreign"
        save_file({"weight": torch.zeros(2)}, plain)
        write_sealed(plain, sealed, Seal("own_architecture", {}, "connect_four", BOARD, N_ACTIONS))
        plain.unlink()
        return self.adopt(sealed)

    def adopt(self, path: Path) -> CheckpointRef:
        """Give a file the name of its hash."""
        digest = hash_file(path)
        path.rename(path.with_name(f"{digest}.safetensors"))
        return ref_of(digest)


def ref_of(digest: str) -> CheckpointRef:
    return CheckpointRef(digest, f"{LINK}{digest}?until=1&signature=a")
