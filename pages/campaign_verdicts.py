"""What campaigns say on pages, in a line: the verdict, or what would be said now."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db.models import Q

from arena.verdicts.base import StopReason
from matches.campaigns import endings, results, texts
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign, Entrant, Tournament
from matches.store.formats import format_count, format_percent


class _End(NamedTuple):
    """How one without an answer ended: as a state, and as the reason in a sentence."""

    state: str
    words: str


_ENDED = _End("ended", "it ended without an answer")
_ENDS = {
    StopReason.OUT_OF_BUDGET.value: _End("ended by its budget", "its budget was used up"),
    "cancelled": _End("stopped", "it was stopped"),
    "no_results": _End("no result", "no match has a result"),
    "bad_scores": _End("wrong scores", "a score is outside of the range that the game declares"),
}
NOT_JUDGED = "waits for its verdict"
N_NAMED = 6
"""Agents of a likeliest order that are named in a line."""


def read_names(campaigns: Sequence[Campaign]) -> dict[int, dict[int, str]]:
    """Return the names that the lines of campaigns need, by tournament and position: one query."""
    # Only the entrants that a line names: a campaign may have thousands.
    places = {campaign.tournament_id: _list_positions(campaign) for campaign in campaigns}
    # Nothing but these conditions joined: one more, and SQLite reads all agents there are.
    entrants = Q()
    for tournament, positions in places.items():
        entrants |= Q(tournament=tournament, position__in=positions)
    names: dict[int, dict[int, str]] = {tournament: {} for tournament in places}
    entered = Entrant.objects.filter(entrants) if any(places.values()) else Entrant.objects.none()
    for tournament, place, name in entered.values_list("tournament", "position", "agent__name"):
        names[tournament][place] = name
    return names


class Standing(NamedTuple):
    """What a list says of a campaign, each in a column or line of its own.

    reason: why there is no answer, and what would bring one; empty with an answer and while
    matches are to be played. goal: what its certainty is compared with.
    """

    answer: str
    reason: str
    certainty: str
    goal: str


def read_standing(campaign: Campaign, names: Mapping[int, str]) -> Standing:
    """Return what a list says of a campaign. names: as for `describe_verdict`."""
    answer = describe_verdict(campaign, names)
    if _is_to_be_judged(campaign) and not campaign.n_judged:
        answer = "No verdict yet"
    elif campaign.question == IS_SPRT and endings.is_answered(campaign):
        answer = f"{answer}; {campaign.statement}"
    return Standing(answer, explain_undecided(campaign), *describe_certainty(campaign))


def explain_undecided(campaign: Campaign) -> str:
    """Return why nothing is decided though all matches have ended, and what would decide it."""
    remedies = endings.name_remedies(campaign)
    if _is_to_be_judged(campaign):
        n_ended = campaign.tournament.n_closed
        ended = f"{n_ended:,} of at most {format_count(campaign.max_matches, 'match', 'matches')}"
        return (
            f"All that is played has ended ({ended}) and is still to be judged. "
            f"If it does not decide the question, {remedies} could."
        )
    if campaign.decided_at is None or endings.is_answered(campaign):
        return ""
    words = _describe_end(campaign)
    words = f"{words[0].upper()}{words[1:]}."
    if _read_reason(campaign) == StopReason.OUT_OF_BUDGET:
        return f"{words} {remedies[0].upper()}{remedies[1:]} could decide it."
    return words


def _is_to_be_judged(campaign: Campaign) -> bool:
    """Say whether all matches have ended, and the last results are not judged yet."""
    return campaign.decided_at is None and campaign.tournament.state in Tournament.OVER


def describe_certainty(campaign: Campaign) -> tuple[str, str]:
    """Return how sure it is, and what was asked for; empty before the first judgement."""
    if campaign.question == IS_SPRT:
        if endings.is_answered(campaign):
            return f"{format_percent(campaign.probability or 0)} or more", ""
        if not campaign.pairs:
            return "", ""
        ratio = read_test(campaign.parameters).state(campaign.pairs).llr
        return f"{ratio:+.2f}", f"log-likelihood ratio: {texts.describe_bounds(campaign)}"
    chance = format_chance(campaign)
    return chance, f"asked for: {format_percent(1 - campaign.error)}" if chance else ""


def describe_verdict(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the verdict, or what would be said now. names: of the likeliest best, by position."""
    if campaign.question == IS_SPRT:
        return endings.grade_test(campaign, results.read_pairs(campaign))
    if endings.has_statement(campaign):
        return endings.describe_answer(campaign)
    likely = _name_likeliest(campaign, names)
    if campaign.decided_at is None:
        return f"Most likely so far: {likely}" if likely else "Not decided yet"
    return f"Not decided. Most likely: {likely}" if likely else "Not decided"


def describe_state(campaign: Campaign) -> str:
    """Return the state of a campaign in a few words; once ended, with its outcome."""
    if _is_to_be_judged(campaign):
        return NOT_JUDGED
    if campaign.decided_at is None:
        return campaign.tournament.shown_state
    if endings.is_answered(campaign):
        return "answered"
    return _ENDS.get(_read_reason(campaign), _ENDED).state


def describe_standing(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the verdict and how sure it is; while it runs, how far it is."""
    chance = format_chance(campaign)
    if campaign.decided_at:
        verdict = describe_verdict(campaign, names)
        if not endings.is_answered(campaign):
            return _add_reason(campaign, verdict)
        if campaign.question == IS_SPRT and endings.has_statement(campaign):
            verdict = f"{verdict}; {campaign.statement}"
        return f"{verdict} ({chance})" if chance else verdict
    if _is_to_be_judged(campaign):
        return f"No verdict yet. {explain_undecided(campaign)}"
    most = format_count(campaign.max_matches, "match", "matches")
    played = f"{campaign.tournament.n_done:,} of at most {most} played"
    if campaign.n_known:
        played += f", {campaign.n_known:,} known before"
    if not campaign.n_judged:
        return f"Not decided yet: {played}"
    if not chance:
        judged = format_count(campaign.n_judged, "result")
        return f"Not decided yet: {played}, {judged} judged"
    return f"{describe_verdict(campaign, names)} ({chance}); {played}"


def describe_judged(campaign: Campaign) -> str:
    """Return which results the latest judgement goes by, so that they add up; empty before it."""
    if not campaign.n_judged:
        return ""
    results_text = format_count(campaign.n_judged, "result")
    n_since, n_ended = campaign.n_judged - campaign.n_known, campaign.tournament.n_done
    if campaign.is_by_scores:
        return f"Judged by {results_text}, all of its own matches."
    # Results are declared void, and other tournaments of the same agents bring some.
    if not 0 <= n_since <= n_ended:
        return f"Judged by {results_text}, of this campaign and of other tournaments."
    if not n_since:
        return f"Judged by {results_text}, all known before it."
    own = f"{n_since:,} of its own"
    known_text = f"{campaign.n_known:,} known before and " if campaign.n_known else ""
    text = f"Judged by {results_text}: {known_text}{own}"
    if n_waiting := (n_ended - n_since) * (campaign.decided_at is None):
        counts = "counts" if n_waiting == 1 else "count"
        ended = format_count(n_ended, "match", "matches")
        text = f"{text}. Of its {ended} played, {n_waiting:,} {counts} at the next judgement"
    return f"{text}."


def format_chance(campaign: Campaign) -> str:
    """Return the probability of the likeliest answer; empty while there is none."""
    # A sequential test has a ratio while it runs; its probability is that of the verdict.
    if campaign.probability is None or (
        campaign.question == IS_SPRT and not endings.is_answered(campaign)
    ):
        return ""
    return format_percent(campaign.probability)


def _add_reason(campaign: Campaign, verdict: str) -> str:
    """Return what one without an answer says, and why it ended."""
    # Where nothing can be said, the statement says why.
    if verdict == campaign.statement:
        return verdict
    words = _describe_end(campaign)
    # Without the chance of the likeliest answer, which would read as that of a verdict.
    head, _, likeliest = verdict.partition(". ")
    ended = f"{head}; {words}" if ": " in head else f"{head}: {words}"
    return f"{ended}. {likeliest}" if likeliest else ended


def _describe_end(campaign: Campaign) -> str:
    """Return why one without an answer ended, with the size of the budget that was used up."""
    reason, _, limit = campaign.why.partition(": ")
    if limit == "matches":
        most = format_count(campaign.max_matches, "match", "matches")
        return f"its budget of {most} was used up"
    if limit == "core_seconds" and campaign.max_core_s is not None:
        return f"its budget of {texts.format_core_time(campaign.max_core_s)} of cores was used up"
    if limit == "pairing":
        return "its pairing had nothing more to play"
    return _ENDS.get(reason, _ENDED).words


def _read_reason(campaign: Campaign) -> str:
    """Return why it ended without what was spent, which may stand behind it."""
    return campaign.why.partition(": ")[0]


def _name_likeliest(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the likeliest answer: the first agents of an order, the best, or a statement."""
    ranking = campaign.ranking or ()
    if ranking:
        ranked = [names[position] for position, _ in ranking[:N_NAMED]]
        return " > ".join([*ranked, *["…"] * (len(ranking) > N_NAMED)])
    if campaign.question == "best":
        return "".join(names[position] for position in _find_likeliest(campaign))
    return campaign.likely_statement


def _list_positions(campaign: Campaign) -> list[int]:
    """Return the positions of the entrants that its question names, and of the likeliest best."""
    if campaign.question == IS_SPRT:
        return [0, 1]
    named_positions = [campaign.parameters[name] for name in "ab" if name in campaign.parameters]
    ranked = [position for position, _ in (campaign.ranking or ())[:N_NAMED]]
    return [*named_positions, *ranked, *_find_likeliest(campaign)]


def _find_likeliest(campaign: Campaign) -> list[int]:
    """Return the position of the agent that is most likely the best; none without a chance."""
    chances = campaign.chances
    likeliest = max(range(len(chances)), key=chances.__getitem__, default=0)
    return [likeliest] if chances and chances[likeliest] > 0 else []
