"""Who may do what: one table of all endpoints, and the one permission class that reads it."""

from typing import Any, Final, NamedTuple, Protocol

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from matches.access.visitors import may_read
from matches.models import Scope


class Access(NamedTuple):
    """What a caller needs: a scope of its token, and a right that its user has in Django."""

    scope: Scope
    right: str = ""
    further: tuple[str, ...] = ()
    """Rights for what the call may make on the way, such as agents."""
    is_public: bool = False
    """Also without a login, as long as EVALSITE_PUBLIC_READ is on."""
    is_proved: bool = False
    """Without a login, also on a closed site: the body holds what lets its sender do this."""


class Endpoint(Protocol):
    """A view as the table names it."""

    basename: str
    action: str | None


_PUBLIC = Access(Scope.READ, is_public=True)
_OWN = Access(Scope.READ)
_LATER_ON = ("matches.add_agent", "matches.add_tournament")
_SCHEDULES = Access(Scope.SUBMIT, "matches.add_tournament")
# It registers agents and opens a leaderboard on the way: what its user may not do by
# calls of their own, it may not do by this one.
_ENTERS = Access(
    Scope.SUBMIT, "matches.add_tournament", ("matches.add_agent", "matches.add_leaderboard")
)
_OPERATES = Access(Scope.OPERATE, "matches.change_tournament")
_RETIRES = Access(Scope.OPERATE, "matches.change_agent")

_QUARANTINES_AGENTS = Access(Scope.OPERATE, "matches.change_agent")
_QUARANTINES_WORKERS = Access(Scope.OPERATE, "matches.change_worker")
_ADMITS_NODES = Access(Scope.OPERATE, "matches.add_nodekey")
# A token that lets one node in, or the key of a node.
_OF_ONE_NODE = Access(Scope.READ, is_proved=True)
_CHANGES_MATCHES = Access(Scope.OPERATE, "matches.change_match")
_CHANGES_BOARDS = Access(Scope.OPERATE, "matches.change_leaderboard")
_SEES_SCHEDULES = Access(Scope.OPERATE, "matches.view_schedule")
_CHANGES_SCHEDULES = Access(Scope.OPERATE, "matches.change_schedule")

TABLE: Final = {
    ("api-root", "list"): _PUBLIC,
    ("agent", "list"): _PUBLIC,
    ("agent", "retrieve"): _PUBLIC,
    ("agent", "explanation"): _PUBLIC,
    ("agent", "create"): Access(Scope.SUBMIT, "matches.add_agent"),
    ("agent", "retire"): _RETIRES,
    ("agent", "unretire"): _RETIRES,
    ("agent", "quarantine"): _QUARANTINES_AGENTS,
    ("agent", "release"): _QUARANTINES_AGENTS,
    # Its holder has networks compute for it, as who schedules a tournament has.
    ("agent", "head_pass"): _SCHEDULES,
    ("pass", "create"): _QUARANTINES_WORKERS,
    ("game", "list"): _PUBLIC,
    ("game", "retrieve"): _PUBLIC,
    ("checkpoint", "list"): _PUBLIC,
    ("checkpoint", "retrieve"): _PUBLIC,
    ("checkpoint", "create"): Access(Scope.SUBMIT, "matches.add_checkpoint"),
    ("checkpoint", "link"): Access(Scope.WORKER, "matches.view_checkpoint"),
    ("leaderboard", "list"): _PUBLIC,
    ("leaderboard", "retrieve"): _PUBLIC,
    ("leaderboard", "create"): Access(Scope.SUBMIT, "matches.add_leaderboard"),
    ("leaderboard", "ratings"): _PUBLIC,
    ("leaderboard", "rating"): _PUBLIC,
    ("leaderboard", "results"): _PUBLIC,
    ("leaderboard", "history"): _PUBLIC,
    ("leaderboard", "rating_history"): _PUBLIC,
    ("leaderboard", "comparison"): _PUBLIC,
    ("leaderboard", "place"): _CHANGES_BOARDS,
    ("leaderboard", "rerate"): _CHANGES_BOARDS,
    ("leaderboard", "freeze"): _CHANGES_BOARDS,
    ("leaderboard", "begin"): _CHANGES_BOARDS,
    ("leaderboard", "seasons"): _PUBLIC,
    ("recommendation", "list"): _PUBLIC,
    ("system", "list"): _PUBLIC,
    ("season", "retrieve"): _PUBLIC,
    ("season", "rows"): _PUBLIC,
    ("import", "list"): _PUBLIC,
    ("import", "retrieve"): _PUBLIC,
    # Whoever may have a leaderboard rated again may say what else it counts.
    ("import", "create"): _CHANGES_BOARDS,
    ("import", "strike"): _CHANGES_BOARDS,
    ("tournament", "list"): _PUBLIC,
    ("tournament", "retrieve"): _PUBLIC,
    ("tournament", "explanation"): _PUBLIC,
    ("tournament", "agents"): _PUBLIC,
    ("tournament", "report"): _PUBLIC,
    # What was decided in matches is for callers with a login, like its pieces.
    ("tournament", "shard"): _OWN,
    ("tournament", "manifest"): _OWN,
    ("tournament", "create"): _SCHEDULES,
    ("tournament", "start"): _OPERATES,
    ("tournament", "pause"): _OPERATES,
    ("tournament", "resume"): _OPERATES,
    ("tournament", "cancel"): _OPERATES,
    ("tournament", "extend"): _OPERATES,
    ("campaign", "list"): _PUBLIC,
    ("campaign", "retrieve"): _PUBLIC,
    ("campaign", "explanation"): _PUBLIC,
    ("campaign", "curve"): _PUBLIC,
    ("campaign", "forecast"): _SCHEDULES,
    ("campaign", "create"): _SCHEDULES,
    ("evaluation", "create"): _ENTERS,
    ("evaluation", "check"): _ENTERS,
    ("generation", "create"): _ENTERS,
    ("generation", "check"): _ENTERS,
    ("gate", "create"): _ENTERS,
    ("gate", "retrieve"): _PUBLIC,
    ("watch", "look"): _SCHEDULES,
    ("watch", "create"): _ENTERS,
    ("watch", "judge"): _SCHEDULES,
    ("alarm", "list"): _PUBLIC,
    ("alarm", "retrieve"): _PUBLIC,
    ("alarm", "acknowledge"): _OPERATES,
    ("match", "list"): _PUBLIC,
    ("match", "retrieve"): _PUBLIC,
    ("match", "explanation"): _PUBLIC,
    ("match", "void"): _CHANGES_MATCHES,
    ("match", "requeue"): _CHANGES_MATCHES,
    ("outcome", "list"): _PUBLIC,
    ("attempt", "list"): _PUBLIC,
    ("worker", "list"): _PUBLIC,
    ("worker", "retrieve"): _PUBLIC,
    ("worker", "explanation"): _PUBLIC,
    ("worker", "quarantine"): _QUARANTINES_WORKERS,
    ("worker", "release"): _QUARANTINES_WORKERS,
    ("node", "invite"): _ADMITS_NODES,
    ("node", "create"): _OF_ONE_NODE,
    ("node", "look"): _OF_ONE_NODE,
    ("node", "leave"): _OF_ONE_NODE,
    ("schedule", "list"): _SEES_SCHEDULES,
    ("schedule", "retrieve"): _SEES_SCHEDULES,
    ("schedule", "explanation"): _SEES_SCHEDULES,
    ("schedule", "create"): Access(Scope.OPERATE, "matches.add_schedule"),
    ("schedule", "destroy"): Access(Scope.OPERATE, "matches.delete_schedule"),
    ("schedule", "enable"): _CHANGES_SCHEDULES,
    ("schedule", "disable"): _CHANGES_SCHEDULES,
    ("audit", "list"): Access(Scope.OPERATE, "matches.view_auditrow"),
    ("trajectory", "list"): _OWN,
    ("trajectory", "manifest"): _OWN,
    # Of `experience`: without a right, so that the token of a user who has none can upload only.
    ("experience", "create"): Access(Scope.SUBMIT),
    # Rows of others, as trajectories are: not without a login.
    ("dataset", "list"): _OWN,
    ("dataset", "retrieve"): _OWN,
    ("dataset", "shards"): _OWN,
    ("dataset", "manifest"): _OWN,
    ("dataset", "create"): Access(Scope.OPERATE, "experience.add_dataset"),
    ("dataset", "destroy"): Access(Scope.OPERATE, "experience.delete_dataset"),
    ("run", "list"): _PUBLIC,
    ("run", "retrieve"): _PUBLIC,
    # It registers agents and starts campaigns later on, with nobody's login.
    ("run", "create"): Access(Scope.OPERATE, "experience.add_trainingrun", _LATER_ON),
    ("run", "stop"): Access(Scope.OPERATE, "experience.change_trainingrun"),
    ("run", "resume"): Access(Scope.OPERATE, "experience.change_trainingrun", _LATER_ON),
    ("model", "list"): _PUBLIC,
    ("model", "retrieve"): _PUBLIC,
    ("model", "versions"): _PUBLIC,
    ("model", "latest"): _PUBLIC,
    ("model", "best"): _PUBLIC,
    ("model", "retire"): Access(Scope.OPERATE, "experience.change_release"),
    ("model", "release"): Access(Scope.OPERATE, "experience.change_release"),
    ("token", "list"): _OWN,
    ("token", "create"): _OWN,
    ("token", "destroy"): _OWN,
}
"""By base name and action. An endpoint that is missing here answers nobody."""


_NOT_THERE = (None, "metadata")
"""What DRF calls the action of a method that an address has not, and of OPTIONS."""


class MayRead(BasePermission):
    """Lets everybody pass, on a closed site who has logged in."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Say whether the caller may look."""
        del view
        return may_read(request.user)


class IsAllowed(MayRead):
    """Lets a request pass if the table says so; the answer names what is missing."""

    def has_permission(self, request: Request, view: Endpoint) -> bool:  # type: ignore[override]
        """Say whether the caller may do this."""
        if view.action in _NOT_THERE:
            return True  # answered with 405
        access = TABLE[view.basename, view.action]
        if access.is_proved or (access.is_public and may_read(None)):
            return True
        if not request.user.is_authenticated:
            return False
        if access.scope not in list_scopes(request):
            self.message = _describe_missing_scope(access.scope)
            return False
        for right in filter(None, (access.right, *access.further)):
            if not request.user.has_perm(right):
                self.message = f"{request.user.get_username()} lacks the right {right!r}"
                return False
        return True


def _describe_missing_scope(scope: Scope) -> str:
    """Return which scope the token lacks, and how one that has it is made."""
    flags = " ".join(f"-s {name}" for name in dict.fromkeys((Scope.READ.value, scope.value)))
    return (
        f"the token lacks the scope {scope.value!r}: make one by `evalsite token NAME --user YOU "
        f"{flags}`, or let an administrator do so: `./run manage token YOU {flags}`"
    )


def list_scopes(request: Request) -> frozenset[Scope]:
    """Return what the caller's login is good for: a token has its scopes, a session has all."""
    if not request.user.is_authenticated:
        return frozenset()
    if request.auth is None:
        return frozenset(Scope)
    token: Any = request.auth
    return frozenset(scope for scope in Scope if scope in token.access.scopes)
