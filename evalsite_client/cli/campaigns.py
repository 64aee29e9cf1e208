"""Commands of campaigns: ask and follow, list, look at one."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalsite_client.api.campaigns import Ahead, Campaign, CampaignDetail, Ranked
from evalsite_client.api.shared import Forecast, ForecastMore, Pairs
from evalsite_client.cli import following
from evalsite_client.cli.flags import add_plan_flags, plan_from_flags
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    page_size,
    read_whole,
    split_agents,
    take_rows,
)
from evalsite_client.cli.saving import save_json
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import ClientError, InputError
from evalsite_client.options import CAMPAIGN
from evalsite_client.progress import format_duration

UNDECIDED = 3
HOUR_S = 3_600
BUDGET = 100_000
ASKED = {option.name for option in CAMPAIGN if option.is_asked} | {"max_matches"}
"""Options of a plan that its forecast takes."""
ABOUT_BEST = ("best", "top_k")
"""Questions to which P(best) says something."""
ALL = "all"
TEST = "sprt"
"""The question whose statement says itself that it is undecided."""
HEAD = ("id", "tournament", "leaderboard", "question", "state", "played", "of", "P", "statement")
N_CHANCES = 5


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    _add_campaign(commands)
    listed = add_command(commands, "campaigns", show_campaigns)
    listed.add_argument("-l", "--leaderboard")
    listed.add_argument("-q", "--question")
    listed.add_argument("--open", action="store_true", help="only those without a verdict")
    add_limit(listed)
    shown = add_command(commands, "verdict", show_verdict, examples="  evalsite verdict 3 --json")
    shown.add_argument("campaign", type=read_whole(1), metavar="ID")
    shown.add_argument("--wait", action="store_true", help="until there is one")
    stopped = add_command(commands, "stop", stop_campaign, examples="  evalsite stop 3")
    stopped.add_argument("campaign", type=read_whole(1), metavar="ID")


def _add_campaign(commands: "_SubParsersAction[ArgumentParser]") -> None:
    new = add_command(
        commands,
        "campaign",
        ask_question,
        has_file=True,
        examples="  evalsite campaign -l levels --question best --margin-elo 20\n"
        "  evalsite campaign -l levels a b c --question top_k -p k=2 --forecast\n"
        "  exit status: 0 answered, 2 refused, 3 ended without an answer, 130 Ctrl-C: it goes on",
    )
    new.add_argument(
        "agents", nargs="*", metavar="AGENT", help="name; none: all of the leaderboard"
    )
    new.add_argument(
        "--agents", type=split_agents, dest="listed", default=[], help="the same, with commas; all"
    )
    new.add_argument("-l", "--leaderboard", required=True)
    add_plan_flags(new, "campaign", defaults={"max_matches": BUDGET})
    then = new.add_mutually_exclusive_group()
    then.add_argument("--forecast", action="store_true", help="only say what it would take")
    then.add_argument("--no-wait", action="store_true", help="start it and end")


def ask_question(client: Client, options: Namespace) -> Answer:
    """Ask a question, say what its answer takes, and wait for the verdict."""
    if options.agents and isinstance(options.json, Path):
        # argparse takes the first agent after a bare --json for the name of its file.
        raise InputError("json", "with a FILE, name the agents by --agents a,b")
    plan = plan_from_flags(options, "campaign")
    names = [name for name in (*options.agents, *options.listed) if name != ALL]
    field: dict[str, Any] = {"leaderboard": options.leaderboard, "agents": names}
    if options.no_wait:
        made = client.campaigns.start(**field, **plan)
        if isinstance(options.json, Path):
            save_json(options.json, made)
        return Answer(made, f"campaign {made.id}: `evalsite verdict {made.id}` shows it")
    asked = {name: value for name, value in plan.items() if name in ASKED}
    ahead = client.campaigns.forecast(**field, **asked)
    if options.forecast:
        if isinstance(options.json, Path):
            save_json(options.json, ahead)
        return Answer(ahead, _describe_ahead(ahead))
    out = following.find_stream(options)
    following.write_line(out, _describe_ahead(ahead))
    following.write_line(out, following.wait_for_cluster(client))
    made = client.campaigns.start(**field, **plan)
    following.write_line(out, f"campaign {made.id} is tournament {made.tournament}")
    try:
        found = _follow_campaign(client, made, is_shown=True)
    except KeyboardInterrupt:
        # While the server is away: what was known at the start.
        with suppress(ClientError):
            made = client.campaigns.get(made.id)
        save_campaign(options.json, made, INTERRUPTED)
        raise
    answer = _describe_verdict(found)
    save_campaign(options.json, found, answer.status)
    return answer


def save_campaign(path: Path | bool | None, found: CampaignDetail, status: int) -> None:
    """Write a campaign for programs into the file that was named, if one was."""
    if not isinstance(path, Path):
        return
    value = {
        "campaign": found.id,
        "tournament": found.tournament,
        "leaderboard": found.leaderboard,
        "question": found.question,
        "error": found.error,
        "margin": found.margin,
        "parameters": found.parameters,
        "exit_code": status,
        "statement": found.statement,
        "subjects": [agent.name for agent in found.subjects],
        "probability": found.probability,
        "why": found.why,
        "decided_at": found.decided_at,
        "n_played": found.n_played,
        "n_known": found.n_known,
        "n_known_elsewhere": found.n_known_elsewhere,
        "n_reused": found.n_reused,
        "n_round_robin": found.n_round_robin,
        "spent": found.spent,
        "chances": {one.agent.name: one.p_best for one in found.chances},
        "ranking": [[one.agent.name, one.p_above_next] for one in found.ranking],
    }
    save_json(path, value)


def show_campaigns(client: Client, options: Namespace) -> Answer:
    """List campaigns, the newest first."""
    campaigns = client.campaigns.list(
        leaderboard=options.leaderboard,
        question=options.question,
        decided=False if options.open else None,
        page_size=page_size(options),
    )
    found = take_rows(campaigns, options)
    return Answer(found, format_table(HEAD, [_make_row(one) for one in found]))


def show_verdict(client: Client, options: Namespace) -> Answer:
    """Show a campaign; the exit status is 3 unless its question is answered."""
    found = client.campaigns.get(options.campaign)
    if options.wait and not found.is_over:
        found = _follow_campaign(client, found, is_shown=not options.json)
    return _describe_verdict(found)


def stop_campaign(client: Client, options: Namespace) -> Answer:
    """End a campaign without a verdict: cancel the matches of its tournament that are open."""
    found = client.campaigns.get(options.campaign)
    client.tournaments.cancel(found.tournament)
    return Answer(
        client.campaigns.get(found.id), f"campaign {found.id} stops: what was played counts"
    )


def _follow_campaign(client: Client, made: CampaignDetail, *, is_shown: bool) -> CampaignDetail:
    """Return the campaign with its verdict; after Ctrl-C it goes on."""
    # On stderr: in place on a terminal, elsewhere now and then.
    lines = following.Lines(client, sys.stderr)
    try:
        ended = client.campaigns.wait(
            made.id,
            progress=(lambda now: lines.show(describe_progress(now))) if is_shown else None,
            trouble=lambda why: lines.show(f"no answer: {why}"),
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            f"\ncampaign {made.id} goes on: `evalsite cancel {made.tournament}` stops it\n"
        )
        raise
    if is_shown:
        lines.end(describe_progress(ended))
    return ended


def describe_progress(found: CampaignDetail) -> str:
    """Return how far a campaign is, in one line."""
    parts = [f"{found.n_done:,} of at most {found.max_matches:,} matches"]
    latest = found.latest_point
    if found.question in ABOUT_BEST:
        parts += [f"P(best) {one.p_best:.1%}: {one.agent.name}" for one in found.chances[:1]]
    elif latest is not None and latest.llr is not None:
        parts.append(f"LLR {latest.llr:+.2f}")
    elif latest is not None and (found.is_answered or not found.is_over):
        parts.append(f"the likeliest answer is true with {latest.probability:.1%}")
    if found.ranking and not found.is_over:
        parts.append(describe_ranking(found.ranking[:N_CHANCES]))
    if found.forecast and not found.is_over:
        parts.append(f"about {found.forecast.matches:,.0f} more")
    if found.state == "paused":
        parts.append("paused")
    return ", ".join(parts)


def _describe_verdict(found: CampaignDetail) -> Answer:
    likeliest = found.chances[:N_CHANCES] if found.question in ABOUT_BEST else ()
    chances = ", ".join(f"{one.agent.name} {one.p_best:.1%}" for one in likeliest)
    known = {
        "verdict": _describe_answer(found),
        # A sequential test without a verdict has a ratio, and a probability of 0.
        "probability": found.probability or None,
        "why": found.why_in_words,
        "not reached": found.shortfall,
        "warning": found.budget_warning,
        "likeliest order": describe_ranking(found.ranking),
        "P(best)": chances,
        "matches": f"{found.n_done:,} of at most {found.max_matches:,}",
        "saved": found.saved,
        **(_describe_blocks(found.pairs) if found.pairs else {}),
        "a round robin": found.n_round_robin and f"about {found.n_round_robin:,.0f} matches",
        "core time": f"{found.spent.core_s:,.1f} s",
        "money": found.spent.money or None,
        **(_describe_forecast(found.forecast) if found.forecast and not found.is_over else {}),
    }
    return Answer(found, format_pairs(known), 0 if found.is_answered else UNDECIDED)


def _describe_answer(found: Campaign) -> str:
    """Return the verdict; of one that ended without any, what was likeliest."""
    if not found.is_over:
        return "none yet"
    if found.statement in {"", found.why}:
        return "none"
    if found.is_answered or found.question == TEST:
        return found.statement
    return f"none; most likely: {found.statement}"


def describe_ranking(ranking: Sequence[Ranked]) -> str:
    """Return an order, the best first, each with the probability that it is above the next."""
    return " > ".join(
        one.agent.name if one.p_above_next is None else f"{one.agent.name} {one.p_above_next:.1%}"
        for one in ranking
    )


def _describe_blocks(found: Pairs) -> Mapping[str, object]:
    """Return what the paired blocks of a test say."""
    elo = found.elo
    return {
        "blocks 0..2": " ".join(map(str, found.blocks)),
        "score": f"{found.score:.2%}, drawn blocks {found.split:.1%}",
        "Elo": f"{elo.elo:+.1f} ({elo.low:+.1f} to {elo.high:+.1f}), P(better) {found.los:.1%}",
    }


def _describe_ahead(found: Ahead) -> str:
    known: dict[str, object] = {"agents": found.n_agents, "margin": found.margin or None}
    known["known matches"] = f"{found.n_known:,}" + (
        f", {found.n_known_elsewhere:,} on other leaderboards" if found.n_known_elsewhere else ""
    )
    known |= {"warning": found.warning, "budget": found.budget_warning}
    return format_pairs({**known, **_describe_forecast(found.forecast)})


def _describe_forecast(found: Forecast) -> Mapping[str, object]:
    if not found.matches:
        return {"to the verdict": "nothing more: what is known decides it"}
    cost = found.cost
    return {
        "to the verdict": f"about {found.matches:,.0f} ({found.low:,.0f} to {found.high:,.0f})",
        "by round robin": found.round_robin and f"about {found.round_robin:,.0f} matches",
        "ends accepted": None if found.accepted is None else f"{found.accepted:.1%} of cases",
        "cores": None if cost.core_s is None else f"{cost.core_s / HOUR_S:,.3g} h",
        "gpus": f"{cost.gpu_s:,.1f} s" if cost.gpu_s else None,
        "on the clock": None if cost.wall_s is None else format_duration(cost.wall_s),
        "costs": cost.money or None,
        f"{found.more.n_matches} more": _describe_more(found.more),
    }


def _describe_more(more: ForecastMore) -> str:
    """Return what some more matches would change."""
    ends = f"verdict in {more.verdict:.1%} of cases"
    if more.now is None or more.then is None:
        return f"LLR {more.llr_now:+.2f} -> {more.llr_then:+.2f}, {ends}"
    return f"P {more.now:.1%} -> {more.then:.1%}, {ends}"


def _make_row(one: Campaign) -> list[object]:
    known = (one.id, one.tournament, one.leaderboard, one.question, one.shown_state, one.n_done)
    is_likely = one.probability is not None and (one.is_answered or not one.is_over)
    sure = f"{one.probability:.1%}" if is_likely else ""
    return [*known, one.max_matches, sure, _describe_answer(one) if one.is_over else ""]
