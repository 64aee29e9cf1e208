"""How tournaments ended, in a line: who won, and which were stopped by their budget."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.pairing import registry as pairings
from matches.ledger.pairing_warnings import is_campaign_over
from matches.models import Tournament
from matches.store.catalog import game_problem
from matches.store.fast_store import keep_or_make
from pages import brackets
from pages.brackets import InRounds
from pages.contenders import read_contenders
from pages.tournament_results import Headline, describe_first, read_results

# A page of a list works out ends that nobody has looked at yet until it has read so many matches,
# each tournament counting as some besides; the next page goes on.
MOST_MADE = 6_000
COST_OF_ONE = 600
# The rounds of a larger one are read on its own page alone: they take longer the more was played.
MOST_MATCHES = 5_000
SHOWN = ("leaderboard", "campaign", "imported", "counted")
"""What is asked of each tournament comes with it."""
_STATES = Tournament.State


class Ending(NamedTuple):
    """The state in words, and who won; None where nobody did."""

    state: str
    headline: Headline | None


def describe_state(tournament: Tournament, in_rounds: InRounds | None) -> str:
    """Return the state in words; one whose rounds have no end was stopped by its budget."""
    is_done = tournament.state == _STATES.DONE and not is_campaign_over(tournament)
    if is_done and in_rounds and not in_rounds.is_decided:
        return "stopped by its budget"
    return tournament.shown_state


def read_endings(tournaments: Sequence[Tournament]) -> dict[int, Ending]:
    """Return by key how tournaments ended, of those where it is known or soon worked out.

    A campaign says its verdict instead, and nobody wins a file of results.
    """
    over = {
        f"ending.{tournament.pk}": tournament
        for tournament in tournaments
        if _has_ending(tournament)
    }
    marks = {key: _describe_mark(tournament) for key, tournament in over.items()}
    endings = keep_or_make(
        marks,
        lambda key: _make_ending(over[key]),
        form=Ending,
        costs={key: COST_OF_ONE + tournament.n_matches for key, tournament in over.items()},
        most=MOST_MADE,
    )
    return _name_agents({over[key].pk: ending for key, ending in endings.items()})


def _name_agents(endings: Mapping[int, Ending]) -> dict[int, Ending]:
    """Return endings with the names that their agents have now: who won is kept for long."""
    headlines = [ending.headline for ending in endings.values() if ending.headline]
    first = {agent.pk for headline in headlines for _, agent in headline.agents}
    named = read_contenders(sorted(first)) if first else {}

    def rename(headline: Headline) -> Headline:
        return headline._replace(
            agents=[(word, named[agent.pk]) for word, agent in headline.agents]
        )

    return {
        pk: ending._replace(headline=ending.headline and rename(ending.headline))
        for pk, ending in endings.items()
    }


def _has_ending(tournament: Tournament) -> bool:
    is_plain = not (hasattr(tournament, "campaign") or hasattr(tournament, "imported"))
    is_over = is_plain and tournament.state in Tournament.OVER
    if not is_over or tournament.pairing not in brackets.PAIRINGS:
        return is_over
    # Rounds are read by the rules of the game: a list must do without where its file is gone.
    return tournament.n_done <= MOST_MATCHES and not game_problem(tournament.leaderboard.game)


def _describe_mark(tournament: Tournament) -> str:
    counted = getattr(tournament, "counted", None)
    counts = (
        f"{tournament.n_planned} {tournament.n_done} {tournament.n_void} "
        f"{counted.n_matches if counted else 0}"
    )
    # Who won stays, but where ratings place the agents: these go on to change.
    is_by_rating = tournament.pairing in pairings.adaptive_names()
    rated = tournament.leaderboard.results_hash if is_by_rating else ""
    return f"{tournament.state} {counts} {rated}"


def _make_ending(tournament: Tournament) -> Ending:
    # Read now: what pages keep may be some seconds older than the end, and this is kept for long.
    has_rounds = tournament.pairing in brackets.PAIRINGS
    in_rounds = brackets.read_rounds(tournament) if has_rounds else None
    results = read_results(tournament, in_rounds)
    headline = describe_first(tournament, results, in_rounds)
    return Ending(describe_state(tournament, in_rounds), headline)
