"""`./run manage generate`: play agents against each other or themselves and keep every decision."""

import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from msgspec import structs

from arena.games import registry as games
from arena.messages import Limits
from arena.trajectories import TrajectorySpec
from matches import dispatch
from matches.artifacts import manifests
from matches.artifacts.shards import Exporter, ExportError
from matches.errors import BadInputError, MatchError
from matches.ledger import generation
from matches.ledger.generation import Generation, Side
from matches.management import generating
from matches.management.generating import StoppedError
from matches.management.options import pair, real, whole
from matches.management.stopping import INTERRUPTED, stoppable
from matches.models import Agent, Tournament
from matches.models.tournament import MAX_DAYS, MAX_MATCHES, new_key
from matches.plans import TournamentPlan

MATCHES_PER_SHARD = 1_000
KEEP_DAYS = 30
"""Time enough to collect a run; then the site deletes its own copy of it."""
# Disk space is asked for by a guess: so many steps, compressed by so much, here and on the site.
TYPICAL_STEPS = 200
COMPRESSED = 8


class Command(BaseCommand):
    """Generate trajectories on the running cluster."""

    help = "Play matches, unrated, and save the trajectories as Parquet shards with a manifest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; their types refuse what is out of range (exit code 2)."""
        add = parser.add_argument
        add("--agent-a", "--model-a", metavar="A", help="name of an agent, or such as mcts:100")
        add("--agent-b", "--model-b", metavar="B", help="left out: A plays itself")
        add("--checkpoint-a", default="", metavar="STEP|HASH", help="of the run that A names")
        add("--checkpoint-b", default="", metavar="STEP|HASH", help="of the run that B names")
        add("--game", default="", help="needed where the names do not tell")
        add("--game-parameter", type=pair, action="append", default=[], metavar="NAME=VALUE")
        add("--matches", type=whole(1, MAX_MATCHES), metavar="N")
        add("--out", "--save-dir", type=Path, required=True, metavar="DIR")
        add("--seed", type=whole(0, 2**62), default=0, help="replays the games")
        add("--opening-plies", type=whole(0, 1_000), help="seeded random plies; else the game's")
        add("--matches-per-shard", type=whole(1, 10_000_000), default=MATCHES_PER_SHARD)
        add("--move-s", type=real(0.01, 86_400), default=Limits().move_s, help="limit of a move")
        add("--match-s", type=real(0.01, 86_400), default=Limits().match_s, help="of a match")
        add("--keep-days", type=whole(1, MAX_DAYS), default=KEEP_DAYS, help="of the site's copy")
        add("--num-workers", type=whole(1, 1_000_000), help="so many orders at least")
        add("--matches-per-worker", type=whole(1, MAX_MATCHES), help="matches of an order")
        add("--batch-size", type=whole(1, 1 << 20), help="see EVALSITE_MAX_BATCH_SIZE")
        add("--timeout-ms", type=whole(0, 60_000), help="see EVALSITE_MAX_WAIT_MS")
        add("--tournament", type=whole(1, 2**62), metavar="ID", help="only export a stored one")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Generate, or go on with it. Bad input ends with exit code 2 before anything is stored."""
        try:
            _refuse_server_settings(options)
            if options["tournament"] is not None:
                folder, tournament = options["out"], _stored(options)
                generating.opened(folder, _asked_of(tournament, options), tournament.key).save()
            else:
                folder, tournament = self._started(options)
            exporter = _exporter(tournament, folder, options["matches_per_shard"])
        except (MatchError, ValidationError) as error:
            raise CommandError(_text(error), returncode=2) from error
        except KeyboardInterrupt:
            message = "interrupted: the same command begins or goes on"
            raise CommandError(message, returncode=INTERRUPTED) from None
        self._collect(exporter, tournament, folder)

    def _started(self, options: dict[str, Any]) -> tuple[Path, Tournament]:
        """Return the folder and the tournament, scheduled once all that it needs is there."""
        wanted = _generation(options)
        agents, needs = generation.check_generation(wanted)
        run = generating.opened(options["out"], _asked(wanted, agents, options), wanted.plan.key)
        dispatch.ping_broker()
        n_bytes = _n_bytes(wanted, agents[0].game)
        generating.require(run.folder, needs, n_bytes=n_bytes, site_url=settings.EVALSITE_SITE_URL)
        run.save()
        plan = structs.replace(wanted.plan, key=run.key)
        tournament = generation.start_generation(replace(wanted, plan=plan))
        self.stdout.write(f"Tournament {tournament.pk} plays for {run.folder}, unrated.")
        return run.folder, tournament

    def _collect(self, exporter: Exporter, tournament: Tournament, folder: Path) -> None:
        began = time.monotonic()
        try:
            with stoppable():
                generating.collect(exporter, tournament, folder, self.stdout)
        except KeyboardInterrupt:
            # The manifest is written with each shard, so it names all that are whole.
            self.stdout.write(f"\n{len(exporter.shards)} whole shard(s) are in {folder}")
            raise CommandError(
                f"interrupted: the matches of tournament {tournament.pk} go on being played; "
                "the same command goes on collecting them, the admin cancels them",
                returncode=INTERRUPTED,
            ) from None
        except (ExportError, StoppedError, OSError) as error:
            raise CommandError(str(error), returncode=1) from error
        elapsed_s = time.monotonic() - began
        manifest = manifests.build_manifest(exporter, tournament)
        for line in generating.summary(manifest, elapsed_s=elapsed_s):
            self.stdout.write(line)
        self.stdout.write(f"{folder / manifests.NAME} names {len(exporter.shards)} shard(s)")


def _refuse_server_settings(options: dict[str, Any]) -> None:
    """Refuse what only gpu workers can be told, at their start. Raises BadInputError."""
    for option, variable in (
        ("batch_size", "EVALSITE_MAX_BATCH_SIZE"),
        ("timeout_ms", "EVALSITE_MAX_WAIT_MS"),
    ):
        value = options[option]
        if value is not None:
            raise BadInputError(
                option.replace("_", "-"),
                f"{value}: gpu workers read it when they start, for all who ask them: "
                f"start them with {variable}={value}",
            )


def _generation(options: dict[str, Any]) -> Generation:
    """Return what was asked for. Raises BadInputError for options that do not go together."""
    if not options["agent_a"]:
        raise BadInputError("agent-a", "is missing: name an agent")
    if options["checkpoint_b"] and not options["agent_b"]:
        raise BadInputError("checkpoint-b", "needs --agent-b")
    n_matches, order_limit = _sizes(options)
    return Generation(
        sides=_sides(options),
        game=options["game"],
        game_parameters=dict(options["game_parameter"]),
        opening_plies=options["opening_plies"],
        plan=TournamentPlan(
            name=f"generate {options['agent_a']}",
            n_matches=n_matches,
            seed=options["seed"],
            move_s=options["move_s"],
            match_s=options["match_s"],
            is_rated=False,
            keeps_trajectories=True,
            trajectory_days=options["keep_days"],
            order_limit=order_limit,
            key=new_key(),
        ),
    )


def _sides(options: dict[str, Any]) -> list[Side]:
    sides = [Side(options["agent_a"], options["checkpoint_a"])]
    if options["agent_b"]:
        sides.append(Side(options["agent_b"], options["checkpoint_b"], "agent-b"))
    return sides


def _sizes(options: dict[str, Any]) -> tuple[int, int | None]:
    """Return how many matches there are and how many an order holds. Raises BadInputError."""
    n, workers, each = (options[k] for k in ("matches", "num_workers", "matches_per_worker"))
    if n is None:
        if workers is None or each is None:
            reason = "is missing; or give --num-workers and --matches-per-worker"
            raise BadInputError("matches", reason)
        n = workers * each
        if n > MAX_MATCHES:
            raise BadInputError("matches", f"{workers} x {each} are over {MAX_MATCHES}")
    elif workers is not None and each is not None and n != workers * each:
        raise BadInputError("matches", f"{n} is not {workers} workers x {each} matches")
    return n, each or (ceil(n / workers) if workers else None)


def _n_bytes(wanted: Generation, game: str) -> int:
    spec = games.get(game).spec
    steps = min(spec.max_steps, TYPICAL_STEPS)
    return wanted.plan.n_matches * steps * TrajectorySpec.of_game(spec).row_bytes // COMPRESSED


def _asked(wanted: Generation, agents: Sequence[Agent], options: dict[str, Any]) -> dict[str, Any]:
    """Return what decides the content of the files: the same in every run of a folder."""
    plan = wanted.plan
    return {
        "agents": [[agent.name, agent.checkpoint_id or ""] for agent in agents],
        "game": agents[0].game,
        "game_parameters": dict(wanted.game_parameters),
        "opening_plies": wanted.opening_plies,
        "matches": plan.n_matches,
        "seed": plan.seed,
        "move_s": plan.move_s,
        "match_s": plan.match_s,
        "matches_per_shard": options["matches_per_shard"],
    }


def _stored(options: dict[str, Any]) -> Tournament:
    """Return the tournament to export. Raises BadInputError unless it keeps trajectories."""
    for option in ("agent_a", "agent_b", "matches", "num_workers"):
        if options[option] is not None:
            raise BadInputError(option.replace("_", "-"), "does not go with --tournament")
    found = Tournament.objects.select_related("leaderboard").filter(pk=options["tournament"])
    tournament = found.first()
    if tournament is None or not tournament.keeps_trajectories:
        reason = f"there is no tournament {options['tournament']} that keeps trajectories"
        raise BadInputError("tournament", reason)
    return tournament


def _asked_of(tournament: Tournament, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "tournament": tournament.pk,
        "key": tournament.key,
        "matches_per_shard": options["matches_per_shard"],
    }


def _exporter(tournament: Tournament, folder: Path, matches_per_shard: int) -> Exporter:
    return Exporter(
        tournament,
        folder,
        manifests.read_form(tournament),
        matches_per_shard=matches_per_shard,
        finished=manifests.read_finished_shards(folder),
    )


def _text(error: MatchError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{name}: {', '.join(m)}" for name, m in error.message_dict.items())
    return str(error)
