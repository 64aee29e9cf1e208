"""Snapshots: the versions that clients play. Only the latest are kept."""

from functools import partial
from typing import Final

from django.db import transaction
from django.db.models import OuterRef, Subquery

from experience.models import Release, TrainingRun
from experience.runs import files
from matches.models import Rating
from matches.store import blobs

MOST_KEPT: Final = 20
_WITHOUT_FILE: Final = (Release.State.EXPIRED, Release.State.RETIRED)


def expire_snapshots(run: TrainingRun) -> int:
    """Delete the files of all but the latest snapshots of a run; return how many."""
    snapshots = run.releases.filter(state=Release.State.SNAPSHOT).order_by("-version")
    old = list(snapshots[MOST_KEPT:])
    if not old:
        return 0
    pks = [release.pk for release in old]
    Release.objects.filter(pk__in=pks).update(state=Release.State.EXPIRED)
    releases = run.releases.exclude(state=Release.State.EXPIRED)
    names = {release.sha256 for release in old} - set(releases.values_list("sha256", flat=True))
    for sha256 in names:
        name = files.name_file(run.name, sha256)
        transaction.on_commit(partial(blobs.delete_file, name, storage=files.STORAGE))
    return len(old)


def find_latest(run: TrainingRun, *, is_released: bool = False) -> Release | None:
    """Return the latest version that may be loaded, or that was released; None: there is none."""
    if is_released:
        releases = run.releases.filter(state=Release.State.RELEASED)
    else:
        releases = run.releases.exclude(state__in=_WITHOUT_FILE)
    return releases.order_by("-version").first()


def find_best(run: TrainingRun) -> Release | None:
    """Return the version of the highest settled rating that may be loaded; None: none is rated.

    Ratings are those of the leaderboard that judged the newest: between two they compare nothing.
    """
    judged = run.releases.exclude(campaign=None).order_by("-version")
    board = judged.values_list("campaign__tournament__leaderboard", flat=True).first()
    ratings = Rating.objects.filter(leaderboard=board, agent=OuterRef("agent"), n_matches__gt=0)
    rated = run.releases.exclude(state__in=_WITHOUT_FILE).annotate(
        mu=Subquery(ratings.values("mu")[:1])
    )
    return rated.exclude(mu=None).select_related("run").order_by("-mu", "-version").first()
