"""What the address of a page asks for."""

from django.http import Http404, HttpRequest

MAX_DIGITS = 12


def number(request: HttpRequest, name: str, *, default: int) -> int:
    """Return a number of the address, 0 or more. Raises Http404 naming it when it is none."""
    text = request.GET.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Http404(f"{name} must be a number, got {text[:40]!r}")
    return int(text)


def optional(request: HttpRequest, name: str) -> int | None:
    """Return a number of the address, None without one. Raises Http404 naming it."""
    return number(request, name, default=0) if name in request.GET else None
