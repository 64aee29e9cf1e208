"""The networks that callers ask: on the gpu queue, or computed in the head itself."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from arena.policies.network_policy import FloatBatch, NetworkOutput
from gameservers.head.gathering import Gatherer, Note
from inference.client import (
    CheckpointRef,
    Inference,
    InferenceClient,
    Settings,
    UnavailableError,
    open_local,
)

GPU = "gpu"
# Blocks on the gpu queue at one time: each waits in a thread of its own.
N_ASKING = 8
# A caller is told sooner than a player that nobody answers: it can do something else.
DEADLINE_MS = 15_000

Ring = Callable[[int, str], None]


class Networks:
    """Answers blocks wherever a network is placed; lives in one event loop."""

    def __init__(self, own: Settings, *, ring: Ring | None, note: Note) -> None:
        """ring: None where there is no broker, and so no gpu queue."""
        self._own = replace(own, deadline_ms=min(own.deadline_ms, DEADLINE_MS))
        self._ring = ring
        self._of_thread = threading.local()
        self._local: Inference | None = None
        self._asking = ThreadPoolExecutor(N_ASKING, "asking")
        # One: torch in this process is used by one thread.
        self._computing = ThreadPoolExecutor(1, "computing")
        self._remote_gatherer = Gatherer(
            self._infer_far, self._run_in(self._asking), note=note, clock=time.monotonic
        )
        self._local_gatherer = Gatherer(
            self._infer_here, self._run_in(self._computing), note=note, clock=time.monotonic
        )

    async def ask(
        self, placement: str, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch
    ) -> NetworkOutput:
        """Return what a network says. Raises InferenceError."""
        if placement != GPU:
            return await self._local_gatherer.ask(ref, observations, states)
        if self._ring is None or not self._own.fast_url:
            missing = "REDIS_URL and FAST_REDIS_URL are not set: no gpu worker can be asked"
            raise UnavailableError(missing)
        return await self._remote_gatherer.ask(ref, observations, states)

    def close(self) -> None:
        """Wait for no answer any more."""
        for pool in (self._asking, self._computing):
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_in(self, pool: ThreadPoolExecutor) -> "Callable[..., asyncio.Future[NetworkOutput]]":
        return lambda *call: asyncio.get_running_loop().run_in_executor(pool, *call)

    def _infer_far(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch
    ) -> NetworkOutput:
        client: InferenceClient | None = getattr(self._of_thread, "client", None)
        if client is None:
            assert self._ring is not None
            client = InferenceClient(self._own.fast_url, settings=self._own, ring=self._ring)
            self._of_thread.client = client
        return client.infer(ref, observations, states)

    def _infer_here(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch
    ) -> NetworkOutput:
        if self._local is None:
            try:
                self._local = open_local(self._own)
            except ImportError as error:
                needs = "its network runs in the head, which needs torch: the extra [inference]"
                raise UnavailableError(f"{needs} ({error})") from error
        return self._local.infer(ref, observations, states)
