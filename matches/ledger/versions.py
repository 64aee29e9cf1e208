"""Whether agents and leaderboards are made of the code that is here, or of code that was edited.

An edited plug-in is another competitor, or another game: what is known of the one says nothing of
the other. So an agent keeps its version for ever, and registering it again under its name makes
the next one (matches.artifacts.agents); a leaderboard keeps the rules that it was opened under.
"""

from django.db.models import QuerySet

from matches.models import Agent, Leaderboard
from matches.models.versions import (
    is_same_version,
    short_version,
    version_of_agent,
    version_of_game,
)


def outdated_agent(agents: QuerySet[Agent], *, is_new: bool) -> str:
    """Return why one of these agents cannot play any more; empty when all can.

    is_new: what is not known of the versions of old rows is no reason for tournaments under way,
    but a new one must not mix results of two codes. Raises UnknownNameError, CatalogError.
    """
    columns = ("policy", "checkpoint__architecture", "version")
    for policy, architecture, version in agents.order_by().values_list(*columns).distinct():
        here = version_of_agent(policy, architecture or "")
        if not is_same_version(version, here) and (version or is_new):
            named = agents.filter(policy=policy, version=version).order_by("pk").first()
            return (
                f"{named} is of version {short_version(version)} of {policy}, which is "
                f"{short_version(here)} here: register it again under its name, which makes a new "
                "agent of it, or bring the old file back"
            )
    return ""


def outdated_board(board: Leaderboard, *, is_new: bool) -> str:
    """Return why a leaderboard is of other rules than those that are here; empty when it is not.

    is_new: as of `outdated_agent`. Raises UnknownNameError, CatalogError.
    """
    here = version_of_game(board.game)
    is_unused_or_under_way = not (is_new and board.next_sequence > 1)
    if is_same_version(board.game_version, here):
        return ""
    if not board.game_version and is_unused_or_under_way:
        return ""
    return (
        f"leaderboard {board.name} is of version {short_version(board.game_version)} of "
        f"{board.game}, which is {short_version(here)} here: open a new leaderboard, or bring the "
        "old file back"
    )


def adopt_rules(board: Leaderboard) -> None:
    """Note the rules of a leaderboard that was opened before versions were kept, and never used."""
    if not board.game_version:
        board.game_version = version_of_game(board.game)
        Leaderboard.objects.filter(pk=board.pk).update(game_version=board.game_version)
