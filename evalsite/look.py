"""How the admin looks: the accent of the pages, and what users need most on top."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

# Tailwind's scale of teal.
TEAL = {
    "50": "#f0fdfa",
    "100": "#ccfbf1",
    "200": "#99f6e4",
    "300": "#5eead4",
    "400": "#2dd4bf",
    "500": "#14b8a6",
    "600": "#0d9488",
    "700": "#0f766e",
    "800": "#115e59",
    "900": "#134e4a",
    "950": "#042f2e",
}
MENU = {
    "Evaluate": {
        "Agents": "matches_agent",
        "Checkpoints": "matches_checkpoint",
        "Leaderboards": "matches_leaderboard",
        "Tournaments": "matches_tournament",
        "Matches": "matches_match",
        "Outcomes": "matches_outcome",
    },
    "System": {
        "Play nodes": "matches_worker",
        "Orders": "matches_order",
        "Periodic tasks": "django_celery_beat_periodictask",
    },
    "Access": {
        "Users": "auth_user",
        "Groups": "auth_group",
        "API tokens": "knox_authtoken",
        "Failed logins": "axes_accessattempt",
    },
}


def mark(_: HttpRequest) -> str:
    """Return the address of our mark."""
    return static("evalsite/mark.svg")


def _group(title: str, lists: dict[str, str]) -> dict[str, Any]:
    items = [
        {"title": name, "link": reverse_lazy(f"admin:{model}_changelist")}
        for name, model in lists.items()
    ]
    return {"title": title, "separator": True, "items": items}


ADMIN_LOOK = {
    "SITE_TITLE": "evalsite",
    "SITE_HEADER": "evalsite",
    "SITE_ICON": mark,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": mark}],
    "COLORS": {"primary": TEAL},
    "SIDEBAR": {"navigation": [_group(title, lists) for title, lists in MENU.items()]},
}
