"""Seeds and uniform numbers derived from what they are for, so that results can be replayed."""

from hashlib import blake2b

SEED_BITS = 63

_WORD = 8
_MAX_UNIFORMS = 8


def derive(*parts: str | int) -> int:
    """Return a 63-bit seed that depends on every part and on their order (BLAKE2b)."""
    # 63 bits: seeds are stored in signed bigints.
    return int.from_bytes(_hash_parts(parts, _WORD), "big") >> 8 * _WORD - SEED_BITS


def derive_uniforms(n: int, *parts: str | int) -> list[float]:
    """Return n (at most 8) independent floats in [0, 1) that depend on every part."""
    if not 0 <= n <= _MAX_UNIFORMS:
        raise ValueError(f"n must be 0..{_MAX_UNIFORMS}, got {n}")
    digest = _hash_parts(parts, _WORD * n or 1)
    # The upper 53 bits: as many as a float64 holds, so that every value is exact and below 1.
    words = (digest[i * _WORD : (i + 1) * _WORD] for i in range(n))
    return [(int.from_bytes(word, "big") >> 11) / (1 << 53) for word in words]


def _hash_parts(parts: tuple[str | int, ...], size: int) -> bytes:
    # Each part with the first letter of its type, and a separator: 1 and "1", or "ab", "c" and "a",
    # "bc" give other seeds.
    text = "\x1f".join([f"{type(part).__name__[0]}{part}" for part in parts])
    return blake2b(text.encode(errors="surrogatepass"), digest_size=size).digest()
