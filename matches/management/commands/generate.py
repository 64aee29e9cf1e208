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
from matches.management.options import INTERRUPTED, float_in, int_in, name_value, stop_on_sigterm
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
        add("--game-parameter", type=name_value, action="append", default=[], metavar="NAME=VALUE")
        add("--matches", type=int_in(1, MAX_MATCHES), metavar="N")
        add("--out", "--save-dir", type=Path, required=True, metavar="DIR")
        add("--seed", type=int_in(0, 2**62), default=0, help="replays the games")
        add("--opening-plies", type=int_in(0, 1_000), help="seeded random plies; else the game's")
        add("--matches-per-shard", type=int_in(1, 10_000_000), default=MATCHES_PER_SHARD)
        add(
            "--move-s", type=float_in(0.01, 86_400), default=Limits().move_s, help="limit of a move"
        )
        add("--match-s", type=float_in(0.01, 86_400), default=Limits().match_s, help="of a match")
        add("--keep-days", type=int_in(1, MAX_DAYS), default=KEEP_DAYS, help="of the site's copy")
        add("--num-workers", type=int_in(1, 1_000_000), help="so many orders at least")
        add("--matches-per-worker", type=int_in(1, MAX_MATCHES), help="matches of an order")
        add("--batch-size", type=int_in(1, 1 << 20), help="see EVALSITE_MAX_BATCH_SIZE")
        add("--timeout-ms", type=int_in(0, 60_000), help="see EVALSITE_MAX_WAIT_MS")
        add("--tournament", type=int_in(1, 2**62), metavar="ID", help="only export a stored one")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Generate, or go on with it. Bad input ends with exit code 2 before anything is stored."""
        try:
            _refuse_server_settings(options)
            if options["tournament"] is not None:
                folder, tournament = options["out"], _find_stored(options)
                asked = {
                    "tournament": tournament.pk,
                    "key": tournament.key,
                    "matches_per_shard": options["matches_per_shard"],
                }
                generating.open_run(folder, asked, tournament.key).save()
            else:
                folder, tournament = self._start_run(options)
            exporter = Exporter(
                tournament,
                folder,
                manifests.read_form(tournament),
                matches_per_shard=options["matches_per_shard"],
                finished=manifests.read_finished_shards(folder),
            )
        except (MatchError, ValidationError) as error:
            raise CommandError(_describe_error(error), returncode=2) from error
        except KeyboardInterrupt:
            message = "interrupted: the same command begins or goes on"
            raise CommandError(message, returncode=INTERRUPTED) from None
        self._collect(exporter, tournament, folder)

    def _start_run(self, options: dict[str, Any]) -> tuple[Path, Tournament]:
        """Return the folder and the tournament, scheduled once all that it needs is there."""
        planned = _read_generation(options)
        agents, needs = generation.check_generation(planned)
        # What decides the content of the files: the same in every run of a folder.
        asked = _describe_content(planned, agents, options)
        run = generating.open_run(options["out"], asked, planned.plan.key)
        dispatch.ping_broker()
        spec = games.get(agents[0].game).spec
        n_steps = planned.plan.n_matches * min(spec.max_steps, TYPICAL_STEPS)
        n_bytes = n_steps * TrajectorySpec.of_game(spec).row_bytes // COMPRESSED
        generating.check_requirements(
            run.folder, needs, n_bytes=n_bytes, site_url=settings.EVALSITE_SITE_URL
        )
        run.save()
        plan = structs.replace(planned.plan, key=run.key)
        tournament = generation.start_generation(replace(planned, plan=plan))
        self.stdout.write(f"Tournament {tournament.pk} plays for {run.folder}, unrated.")
        return run.folder, tournament

    def _collect(self, exporter: Exporter, tournament: Tournament, folder: Path) -> None:
        began = time.monotonic()
        try:
            with stop_on_sigterm():
                generating.collect_shards(exporter, tournament, folder, self.stdout)
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
        for line in generating.summarise(manifest, elapsed_s=elapsed_s):
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


def _read_generation(options: dict[str, Any]) -> Generation:
    """Return what was asked for. Raises BadInputError for options that do not go together."""
    if not options["agent_a"]:
        raise BadInputError("agent-a", "is missing: name an agent")
    if options["checkpoint_b"] and not options["agent_b"]:
        raise BadInputError("checkpoint-b", "needs --agent-b")
    n_matches, order_limit = _read_sizes(options)
    sides = [Side(options["agent_a"], options["checkpoint_a"])]
    if options["agent_b"]:
        sides.append(Side(options["agent_b"], options["checkpoint_b"], "agent-b"))
    return Generation(
        sides=sides,
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


def _read_sizes(options: dict[str, Any]) -> tuple[int, int | None]:
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


def _describe_content(
    planned: Generation, agents: Sequence[Agent], options: dict[str, Any]
) -> dict[str, Any]:
    plan = planned.plan
    return {
        "agents": [[agent.name, agent.checkpoint_id or ""] for agent in agents],
        "game": agents[0].game,
        "game_parameters": dict(planned.game_parameters),
        "opening_plies": planned.opening_plies,
        "matches": plan.n_matches,
        "seed": plan.seed,
        "move_s": plan.move_s,
        "match_s": plan.match_s,
        "matches_per_shard": options["matches_per_shard"],
    }


def _find_stored(options: dict[str, Any]) -> Tournament:
    """Return the tournament to export. Raises BadInputError unless it keeps trajectories."""
    for option in ("agent_a", "agent_b", "matches", "num_workers"):
        if options[option] is not None:
            raise BadInputError(option.replace("_", "-"), "does not go with --tournament")
    tournaments = Tournament.objects.select_related("leaderboard")
    tournament = tournaments.filter(pk=options["tournament"]).first()
    if tournament is None or not tournament.keeps_trajectories:
        reason = f"there is no tournament {options['tournament']} that keeps trajectories"
        raise BadInputError("tournament", reason)
    return tournament


def _describe_error(error: MatchError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{name}: {', '.join(m)}" for name, m in error.message_dict.items())
    return str(error)
