"""Passes: who holds one may dial a game server, or ask for the decisions of an agent, for a while.

A pass is `<subject>.<until>.<signature>`: whom it is for, the second since 1970 at which it ends,
and 64 hexadecimal digits of HMAC-SHA256 under a key that only its maker and its checker have.
"""

import hmac

from arena.errors import ArenaError
from arena.parameters import parse_number


class PassError(ArenaError):
    """A pass that does not let its holder in; the message says why, never the pass itself."""


def make_pass(key: str, subject: str, *, until: int) -> str:
    """Return a pass for a subject, such as the name of a game server, that ends at `until`."""
    return f"{subject}.{until}.{_sign_subject(key, subject, until)}"


def check_pass(key: str, text: str, subject: str, *, now: float) -> None:
    """Raise PassError unless the text is a pass for this subject that has not ended.

    now: seconds since 1970.
    """
    named, _, end = text.rpartition(".")[0].rpartition(".")
    until = parse_number(end, lowest=0)
    signature = text.rpartition(".")[2]
    if until is None:
        raise PassError("no pass: it must be <subject>.<until>.<signature>")
    # Of bytes: text with other letters would raise, and so would half a letter (a lone surrogate).
    signature_bytes = signature.encode(errors="surrogatepass")
    if not hmac.compare_digest(signature_bytes, _sign_subject(key, named, until).encode()):
        raise PassError("a pass that was not made here, or with another key: ask for a new one")
    if named != subject:
        raise PassError(f"a pass for {named:.80}, not for {subject}: ask for one of its own")
    if until < now:
        raise PassError(f"the pass ended {now - until:.0f} s ago: ask for a new one")


def _sign_subject(key: str, subject: str, until: int) -> str:
    signed = f"pass:{until}:{subject}".encode(errors="surrogatepass")
    return hmac.digest(key.encode(), signed, "sha256").hex()
