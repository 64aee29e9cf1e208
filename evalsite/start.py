"""The admin's start page with the addresses that only the configuration knows."""

import os
from typing import Any

from django.http import HttpRequest

from launcher.addresses import LOOPBACK, Ports
from matches.admin.start import add_state


def complete_start_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the start page; Flower listens on this machine only."""
    default = f"http://{LOOPBACK}:{Ports.from_environment(os.environ).flower}/"
    flower = os.environ.get("EVALSITE_FLOWER_URL", default)
    return {**add_state(request, context), "flower": flower}
