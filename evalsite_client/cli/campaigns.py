"""Commands of campaigns: ask and follow, list, look at one."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalsite_client.api.campaigns import Ahead, CampaignDetail
from evalsite_client.cli import following
from evalsite_client.cli.campaign_texts import (
    describe_ahead,
    describe_progress,
    describe_verdict,
    make_row,
)
from evalsite_client.cli.flags import add_plan_flags, plan_from_flags
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    page_size,
    read_whole,
    split_agents,
    take_rows,
)
from evalsite_client.cli.run_agents import ALL_STEPS, expand_runs
from evalsite_client.cli.saving import save_json
from evalsite_client.cli.show import Answer, format_table
from evalsite_client.cli.stopping import INTERRUPTED
from evalsite_client.client import Client
from evalsite_client.errors import ClientError, InputError
from evalsite_client.options import CAMPAIGN

BUDGET = 100_000
ASKED = {option.name for option in CAMPAIGN if option.is_asked} | {"max_matches"}
"""Options of a plan that its forecast takes."""
NO_FORECAST = "no forecast of mean scores: it plays {:,} matches at most"
ALL = "all"
HEAD = ("id", "tournament", "leaderboard", "question", "state", "played", "of", "P", "statement")


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
        "agents",
        nargs="*",
        metavar="AGENT",
        help="name, or RUN@*: all of a run; none: all of the leaderboard",
    )
    new.add_argument(
        "--agents",
        type=split_agents,
        dest="listed",
        default=[],
        help="the same, with commas, or all",
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
    names = _read_names(client, options)
    # Among others it is the name of an agent.
    entered = [] if names == [ALL] else names
    field: dict[str, Any] = {"leaderboard": options.leaderboard, "agents": entered}
    if options.no_wait:
        campaign = client.campaigns.start(**field, **plan)
        if isinstance(options.json, Path):
            save_json(options.json, campaign)
        return Answer(
            campaign, f"campaign {campaign.id}: `evalsite verdict {campaign.id}` shows it"
        )
    if options.forecast:
        ahead = _forecast(client, field, plan)
        if isinstance(options.json, Path):
            save_json(options.json, ahead)
        return Answer(ahead, describe_ahead(ahead))
    out = following.find_stream(options)
    is_by_scores = plan.get("margin_score") is not None
    if not is_by_scores:
        following.write_line(out, describe_ahead(_forecast(client, field, plan)))
    cluster = following.wait_for_cluster(client)
    campaign = client.campaigns.start(**field, **plan)
    # Only now: without a forecast nobody has said before whether it can be asked.
    if is_by_scores:
        following.write_line(out, NO_FORECAST.format(plan["max_matches"]))
    following.write_line(out, cluster)
    following.write_line(out, f"campaign {campaign.id} is tournament {campaign.tournament}")
    return _await_answer(client, campaign, options.json)


def _read_names(client: Client, options: Namespace) -> list[str]:
    names = [*options.agents, *options.listed]
    if not any(name.endswith(ALL_STEPS) for name in names):
        return names
    return expand_runs(client, names, game=client.leaderboards.get(options.leaderboard).game)


def _forecast(client: Client, field: dict[str, Any], plan: dict[str, Any]) -> Ahead:
    questions = {name: value for name, value in plan.items() if name in ASKED}
    return client.campaigns.forecast(**field, **questions)


def _await_answer(client: Client, started: CampaignDetail, path: Path | bool | None) -> Answer:
    """Follow a campaign to its verdict, which goes into the file that was named, if one was."""
    try:
        campaign = _follow_campaign(client, started, is_shown=True)
    except KeyboardInterrupt:
        # While the server is away: what was known at the start.
        with suppress(ClientError):
            started = client.campaigns.get(started.id)
        save_campaign(path, started, INTERRUPTED)
        raise
    answer = describe_verdict(campaign)
    save_campaign(path, campaign, answer.status)
    return answer


def save_campaign(path: Path | bool | None, campaign: CampaignDetail, status: int) -> None:
    """Write a campaign for programs into the file that was named, if one was."""
    if not isinstance(path, Path):
        return
    value = {
        "campaign": campaign.id,
        "tournament": campaign.tournament,
        "leaderboard": campaign.leaderboard,
        "question": campaign.question,
        "error": campaign.error,
        "margin": campaign.margin,
        "parameters": campaign.parameters,
        "exit_code": status,
        "statement": campaign.statement,
        "subjects": [agent.name for agent in campaign.subjects],
        "likely_statement": campaign.likely_statement,
        "likely_subjects": [agent.name for agent in campaign.likely_subjects],
        "probability": campaign.probability,
        "why": campaign.why,
        "decided_at": campaign.decided_at,
        "n_played": campaign.n_played,
        "n_known": campaign.n_known,
        "n_known_elsewhere": campaign.n_known_elsewhere,
        "n_reused": campaign.n_reused,
        "n_round_robin": campaign.n_round_robin,
        "spent": campaign.spent,
        "chances": {chance.agent.name: chance.p_best for chance in campaign.chances},
        "ranking": [[place.agent.name, place.p_above_next] for place in campaign.ranking],
        "upsets": [[upset.agent.name, upset.beats.name] for upset in campaign.upsets],
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
    shown = take_rows(campaigns, options)
    return Answer(shown, format_table(HEAD, [make_row(campaign) for campaign in shown]))


def show_verdict(client: Client, options: Namespace) -> Answer:
    """Show a campaign; the exit status is 3 unless its question is answered."""
    campaign = client.campaigns.get(options.campaign)
    if options.wait and not campaign.is_over:
        campaign = _follow_campaign(client, campaign, is_shown=not options.json)
    return describe_verdict(campaign)


def stop_campaign(client: Client, options: Namespace) -> Answer:
    """End a campaign without a verdict: cancel the matches of its tournament that are open."""
    campaign = client.campaigns.get(options.campaign)
    if campaign.is_over:
        ended = f"campaign {campaign.id} had ended before: `evalsite verdict {campaign.id}`"
        return Answer(campaign, f"{ended} shows it")
    client.tournaments.cancel(campaign.tournament)
    return Answer(
        client.campaigns.get(campaign.id), f"campaign {campaign.id} stops: what was played counts"
    )


def _follow_campaign(client: Client, started: CampaignDetail, *, is_shown: bool) -> CampaignDetail:
    """Return the campaign with its verdict; after Ctrl-C it goes on."""
    # On stderr: in place on a terminal, elsewhere now and then.
    lines = following.Lines(client, sys.stderr)
    still = following.Standstill(client, lambda: client.campaigns.explain(started.id))

    def show(now: CampaignDetail) -> None:
        lines.show(f"{describe_progress(now)}{still.describe(now.n_done)}")

    try:
        ended = client.campaigns.wait(
            started.id,
            progress=show if is_shown else None,
            trouble=lambda why: lines.show(f"no answer: {why}"),
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            f"\ncampaign {started.id} goes on: `evalsite cancel {started.tournament}` stops it\n"
        )
        raise
    if is_shown:
        lines.end(describe_progress(ended))
    return ended
