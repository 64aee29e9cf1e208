"""Ask every address again and again; say what the slowest calls took."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import median
from types import ModuleType

from django.core.cache import cache

from benchmarks.field import addresses, people, subjects
from benchmarks.field.addresses import Address
from benchmarks.field.asking import Answer, Asker, Headers

NOT_READY = {"/readyz": 503}
"""Nothing runs here but the web application: it must say so."""
OURS = ("matches", "live", "evalsite")
_REFUSED = 400


@dataclass(frozen=True)
class Measured:
    """An address: p95 of wall and CPU time over all calls; medians with and without kept answers.

    queries: the most of any call; kb: what came back.
    """

    path: str
    p95_ms: float
    queries: int
    warm_ms: float
    cold_ms: float
    cpu_ms: float
    kb: float


class RefusedError(Exception):
    """An address was not answered as it should be."""


def measure(
    *, n_warm: int, n_cold: int, only: str = "", said: Callable[[str], None] = print
) -> list[Measured]:
    """Return what every address took, in their order."""
    known = asdict(subjects.found())
    wanted = [one for one in addresses.everything(known) if only in one.name]
    secret, cookie = people.token(), subjects.cookie()
    asker = Asker()
    try:
        asker.ask("/")  # imports and compiles what the first request of a process does
        return [
            _measured(asker, one, _headers(one, secret, cookie), n_warm, n_cold, said)
            for one in wanted
        ]
    finally:
        asker.close()


def _headers(address: Address, secret: str, cookie: str) -> Headers:
    if address.path.startswith("/admin/"):
        return [("cookie", cookie)]
    if address.path.startswith("/api/v1/"):
        return [("authorization", f"Token {secret}")]
    return []


def _measured(
    asker: Asker,
    address: Address,
    headers: Headers,
    n_warm: int,
    n_cold: int,
    said: Callable[[str], None],
) -> Measured:
    cold = []
    for _ in range(n_cold):
        forget()
        cold.append(_asked(asker, address, headers))
    warm = [_asked(asker, address, headers) for _ in range(n_warm)]
    every = [*cold, *warm]
    found = Measured(
        path=address.name,
        p95_ms=p95(one.wall_ms for one in every),
        queries=max(one.n_queries for one in every),
        warm_ms=median(one.wall_ms for one in warm),
        cold_ms=median(one.wall_ms for one in cold),
        cpu_ms=p95(one.cpu_ms for one in every),
        kb=len(every[0].body) / 1e3,
    )
    spent = f"{found.p95_ms:8.1f} ms {found.cpu_ms:7.1f} ms CPU {found.queries:4} queries"
    said(f"{spent}  {address.name}")
    return found


def _asked(asker: Asker, address: Address, headers: Headers) -> Answer:
    answer = asker.ask(address.path, headers)
    expected = NOT_READY.get(address.path)
    if answer.status != expected and (expected or answer.status >= _REFUSED):
        said = answer.body[:300].decode(errors="replace")
        raise RefusedError(f"{address.path} answers {answer.status}: {said}")
    return answer


def forget() -> None:
    """Empty what is kept between requests: in the fast store and in our modules."""
    cache.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(OURS):
            _forget_in(module)


def _forget_in(module: ModuleType) -> None:
    for name, kept in vars(module).items():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()
        elif name.startswith("_kept") and hasattr(kept, "clear"):
            kept.clear()


def p95(values: Iterable[float]) -> float:
    """Return the smallest value that 95 % of them do not exceed."""
    ordered: Sequence[float] = sorted(values)
    return ordered[ceil(0.95 * len(ordered)) - 1]
