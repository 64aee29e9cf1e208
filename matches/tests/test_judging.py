"""One judgement: how often it asks the database, and through which of our files it walks."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

import matches
from matches.campaigns import judging
from matches.ledger import planning
from matches.models import Campaign
from matches.ratings import rater
from matches.tests import boards
from matches.tests.factories import later
from matches.tests.test_campaigns import FIELD, campaign_of

pytestmark = pytest.mark.django_db(transaction=True)

HOME = Path(matches.__file__).parent
PAIR = FIELD[1:3]
MOST_FILES = 13
"""Besides the models, of a sequential test, 12 of others; there were 33 when first measured."""


def judgeable(question: str, agents: tuple[str, ...]) -> Campaign:
    """Return a campaign some of whose matches were played and counted, and none judged."""
    campaign = campaign_of(question, agents=agents)
    planning.plan_scheduled(now=later(0))
    boards.play_some(campaign.tournament, 100, boards.by_strength(), now=later(0))
    rater.rate(campaign.tournament.leaderboard_id, now=later(1))
    return Campaign.objects.select_related("tournament__leaderboard").get(pk=campaign.pk)


@contextmanager
def files_walked() -> Iterator[set[str]]:
    """Collect the files of this package, models and tests aside, in which a function is called."""
    walked: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME) and "tests" not in path.parts:
            walked.add(str(path.relative_to(HOME)))

    sys.setprofile(note)
    try:
        yield walked
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("question", "agents", "n_queries"), [("best", FIELD, 24), ("sprt", PAIR, 23)]
)
def test_one_judgement_asks_the_database_for_each_thing_once(
    question: str, agents: tuple[str, ...], n_queries: int
) -> None:
    campaign = judgeable(question, agents)
    with CaptureQueriesContext(connection) as capture, files_walked() as walked:
        judging.judge_campaign(campaign, now=later(2))
    queries = [query["sql"] for query in capture.captured_queries]
    assert len(queries) == n_queries, "\n".join(queries)
    assert sum("matches_rating" in sql for sql in queries) == 1, "which leaderboards know them"
    assert sum('FROM "matches_entrant"' in sql for sql in queries) <= 2
    rooms = {path.split("/")[0] for path in walked}
    assert rooms <= {"campaigns", "ledger", "models", "ratings", "store"}
    files = [path for path in walked if not path.startswith("models/")]
    assert len(files) <= MOST_FILES, " ".join(sorted(files))


def test_what_comes_at_once_is_judged_more_seldom() -> None:
    campaign = judgeable("best", FIELD)
    judging.judge_campaign(campaign, now=later(2))
    n_results = Campaign.objects.get(pk=campaign.pk).n_judged
    n_before = n_results - 2  # by a seventh more
    # Of four agents a look is early within 0.4 s of the last one.
    for seconds, n_judged in ((0.8, n_before), (1, n_results)):
        Campaign.objects.update(judged_at=later(0.5), decided_at=None, n_judged=n_before)
        judging.judge_campaign(Campaign.objects.get(pk=campaign.pk), now=later(seconds))
        assert Campaign.objects.get(pk=campaign.pk).n_judged == n_judged
