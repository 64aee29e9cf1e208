"""`python -m arena.conformance FAMILY NAME --lines N`: what `evalsite plugin check` starts."""

from arena.conformance.families import FAMILIES
from arena.conformance.reporting import main

main(FAMILIES)
