"""Capabilities to report: each message of a node carries the one that its order brought."""

import hmac


def match_token(secret: bytes, match: int, attempt: int) -> str:
    """Return the capability to report this attempt of this match (HMAC-SHA256, 128 bits)."""
    return _sign_token(secret, f"match:{match}:{attempt}")


def order_token(secret: bytes, order: str) -> str:
    """Return the capability to report that an order has been started."""
    return _sign_token(secret, f"order:{order}")


def mark_token(secret: bytes, at: str, shard: int = 0) -> str:
    """Return the proof that a mark comes from control."""
    return _sign_token(secret, f"mark:{shard}:{at}")


def checkpoint_token(secret: bytes, checkpoint: str) -> str:
    """Return the capability to report what a check of this checkpoint found."""
    return _sign_token(secret, f"checkpoint:{checkpoint}")


def _sign_token(secret: bytes, text: str) -> str:
    # Half of the digest: 128 bits cannot be guessed, and an order carries a token for every match.
    return hmac.digest(secret, text.encode(), "sha256")[:16].hex()
