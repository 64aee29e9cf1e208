"""Bytes on which Python's JSON reader raises more than JSONDecodeError, or at least fails."""

DEADLY = (
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b"9" * 5_000,
    b"-" + b"1" * 5_000,
    b"1e999999",
    b"\xff",
)
"""Items of a queue, and values within one; Python's own JSON would not write them."""
