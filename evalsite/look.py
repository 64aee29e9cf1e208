"""How the admin looks: the accent of the pages, and what users need most on top."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

# Tailwind's scale of teal; 600 is a little darker, for white words of buttons to be read on it.
TEAL = {
    "50": "#f0fdfa",
    "100": "#ccfbf1",
    "200": "#99f6e4",
    "300": "#5eead4",
    "400": "#2dd4bf",
    "500": "#14b8a6",
    "600": "#0b7f75",
    "700": "#0f766e",
    "800": "#115e59",
    "900": "#134e4a",
    "950": "#042f2e",
}


class Place(NamedTuple):
    """A list in the menu: its model and its icon, of the font that the admin brings along."""

    model: str
    icon: str


MENU = {
    "Evaluate": {
        "Agents": Place("matches.agent", "smart_toy"),
        "Checkpoints": Place("matches.checkpoint", "deployed_code"),
        "Leaderboards": Place("matches.leaderboard", "leaderboard"),
        "Seasons": Place("matches.season", "ac_unit"),
        "Tournaments": Place("matches.tournament", "account_tree"),
        "Campaigns": Place("matches.campaign", "gavel"),
        "Alarms": Place("matches.alarm", "notification_important"),
        "Schedules": Place("matches.schedule", "schedule"),
        "Matches": Place("matches.match", "swords"),
        "Outcomes": Place("matches.outcome", "flag"),
        "Import batches": Place("matches.importbatch", "upload_file"),
    },
    "Train": {
        "Training runs": Place("experience.trainingrun", "model_training"),
        "Releases": Place("experience.release", "new_releases"),
    },
    "System": {
        "Workers": Place("matches.worker", "dns"),
        "Node keys": Place("matches.nodekey", "key"),
        "Orders": Place("matches.order", "package_2"),
        "Audit": Place("matches.auditrow", "history_edu"),
    },
    "Access": {
        "Users": Place("auth.user", "person"),
        "Groups": Place("auth.group", "group"),
        "API tokens": Place("matches.tokenaccess", "key"),
        "Failed logins": Place("axes.accessattempt", "lock_person"),
    },
    "Celery beat, to read": {
        "Periodic tasks": Place("django_celery_beat.periodictask", "timer"),
        "Crontabs": Place("django_celery_beat.crontabschedule", "calendar_clock"),
    },
}


def find_mark(_: HttpRequest) -> str:
    """Return the address of our mark."""
    return static("evalsite/mark.svg")


def find_style(_: HttpRequest) -> str:
    """Return the address of the rules for our own parts of the admin."""
    return static("evalsite/admin.css")


def find_times_script(_: HttpRequest) -> str:
    """Return the address of the script that writes times in the zone of the viewer."""
    return static("evalsite/times.js")


def describe_list(title: str, place: Place) -> dict[str, Any]:
    """Return a list as an entry of the menu, for who may see it."""
    app, model = place.model.split(".")

    def may_see(request: HttpRequest) -> bool:
        return any(request.user.has_perm(f"{app}.{act}_{model}") for act in ("view", "change"))

    return {
        "title": title,
        "icon": place.icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": may_see,
    }


START = {
    "title": "",
    "items": [
        {"title": "Start", "icon": "space_dashboard", "link": reverse_lazy("admin:index")},
        {"title": "Live system", "icon": "monitoring", "link": reverse_lazy("system")},
    ],
}
ADMIN_LOOK = {
    "SITE_TITLE": "evalsite",
    "SITE_HEADER": "evalsite",
    "SITE_ICON": find_mark,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": find_mark}],
    "COLORS": {"primary": TEAL},
    "STYLES": [find_style],
    "SCRIPTS": [find_times_script],
    "SITE_URL": "/",
    "SHOW_HISTORY": False,  # the audit has it
    "DASHBOARD_CALLBACK": "evalsite.start.complete_start_page",
    "SIDEBAR": {
        "navigation": [
            START,
            *(
                {
                    "title": title,
                    "separator": True,
                    "items": [describe_list(*entry) for entry in lists.items()],
                }
                for title, lists in MENU.items()
            ),
        ]
    },
}
