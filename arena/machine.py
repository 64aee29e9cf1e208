"""What a node says of its machine: labels of its operator, versions, and how busy it is."""

import logging
import os
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path

from arena.errors import ArenaError

log = logging.getLogger(__name__)

CLASS, PRICE, SPOT = "class", "price", "spot"
LABELS = "EVALSITE_LABELS"
# Labels with a variable of their own: what starts a machine knows no others of it.
OWN_VARIABLES = {"EVALSITE_CLASS": CLASS, "EVALSITE_PRICE": PRICE}
MAX_LABELS, MAX_VALUE = 20, 60
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MEMORY = re.compile(r"^(MemTotal|MemAvailable): +(\d+) kB$", re.MULTILINE)


class LabelError(ArenaError):
    """A label that cannot be shown, or that contradicts another."""

    def __init__(self, label: str, rule: str, *, variable: str = LABELS) -> None:
        """Keep the label as it was given, in which variable, and what it must be instead."""
        self.label, self.rule, self.variable = label, rule, variable
        super().__init__(f"label {label!r:.100}: must be {rule}")


def read_labels(text: str) -> dict[str, str]:
    """Return the labels of a list such as class=spot,price=0.35,zone=eu-1. Raises LabelError."""
    labels: dict[str, str] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        name, _, value = (part.strip() for part in pair.partition("="))
        is_shown = value.isprintable() and 0 < len(value) <= MAX_VALUE
        if not (is_shown and _NAME.fullmatch(name)):
            rule = "name=value: a name of up to 40 small letters, digits, _ and -, a letter first"
            raise LabelError(pair, f"{rule}; a value of up to {MAX_VALUE} printable characters")
        if name in labels:
            raise LabelError(pair, f"given once: {name} is {labels[name]} already")
        if name == PRICE and not _is_price(value):
            raise LabelError(pair, "what the machine costs an hour, a number from 0 on")
        labels[name] = value
    if len(labels) > MAX_LABELS:
        raise LabelError(text, f"{MAX_LABELS} labels at most, got {len(labels)}")
    return labels


def read_machine_labels(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of EVALSITE_LABELS, EVALSITE_CLASS and EVALSITE_PRICE.

    Raises LabelError, also where two of them contradict each other.
    """
    labels = read_labels(environ.get(LABELS, ""))
    for variable, name in OWN_VARIABLES.items():
        value = environ.get(variable, "").strip()
        if not value:
            continue
        if "," in value:
            raise LabelError(value, "one value, without a comma", variable=variable)
        try:
            own = read_labels(f"{name}={value}")
        except LabelError as error:
            raise LabelError(value, error.rule, variable=variable) from None
        if labels.setdefault(name, value) != value:
            rule = f"{labels[name]}, which {LABELS} says by {name}={labels[name]}, or left out"
            raise LabelError(value, rule, variable=variable)
        labels |= own
    return labels


def _is_price(value: str) -> bool:
    try:
        price = float(value)
    except ValueError:
        return False
    return isfinite(price) and price >= 0


def read_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            log.debug("%s is not installed as a package: its version is not reported", package)
    return versions


def measure_load(meminfo: Path = Path("/proc/meminfo")) -> dict[str, float]:
    """Return cpu: processes that compute or wait for it, per core; memory: its share in use.

    What this system does not tell is left out.
    """
    load: dict[str, float] = {}
    with suppress(AttributeError, OSError):
        load["cpu"] = round(os.getloadavg()[0] / (os.cpu_count() or 1), 3)
    with suppress(OSError, KeyError, ZeroDivisionError):
        sizes = {name: int(size) for name, size in _MEMORY.findall(meminfo.read_text())}
        load["memory"] = round(1 - sizes["MemAvailable"] / sizes["MemTotal"], 3)
    return load
