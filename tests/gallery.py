"""Fill a site with something of everything, and name its pages."""

import json
import zlib
from collections.abc import Sequence
from datetime import timedelta
from math import sin
from random import Random
from uuid import UUID

import msgspec
from django.db.models import F
from redis import Redis

from arena.games import registry as games
from arena.games.base import OVER, Game, State
from arena.messages import Serving
from arena.move_notes import note_time, note_value, pack_notes
from arena.queues import serving_key
from experience.tests import trained_runs
from matches.ledger import day_costs, planning
from matches.models import (
    Agent,
    Attempt,
    Checkpoint,
    Leaderboard,
    Match,
    Outcome,
    Rating,
    RatingSnapshot,
    RecorderMark,
    Replacement,
    Tournament,
    Voiding,
    Worker,
)
from matches.models.match import parse_numbers
from matches.operations.system import pushing
from matches.ratings import rater, seasons, snapshots
from matches.store.attempt_counters import AttemptCounter, Kind
from matches.store.auditing import Actor
from matches.store.clock import PLAYING_LEASE, db_now
from matches.tests import boards, factories
from matches.tests.factories import NOW
from pages.tests.test_strength_plots import GEOMETRIC, trained

EMPTY = {
    "empty": "/",
    "empty-boards": "/leaderboards/",
    "empty-system": "/system/",
    "empty-suite": "/suites/llmserve/",
    "empty-models": "/models/",
    "not-found": "/leaderboards/nowhere/",
}
SHORTEST = 5
UNPLAYED = 6
"""Moves before the end of a game that a seat forfeits."""
OTHERS = {"login": "/admin/login/", "api-docs": "/api/docs/"}
SPOT_LABELS = {"class": "spot", "price": "0.35", "zone": "eu-west-1"}
LONG = "a_run_with_a_name_that_nobody_shortened_" + "because_the_field_takes_it_" * 2


def fill(broker: Redis) -> dict[str, str]:
    """Play tournaments and matches of every game, let nodes be busy; return the pages by name."""
    return (
        pages_of_a_board()
        | _pages_of_what_waits()
        | pages_of_a_suite()
        | pages_of_training()
        | _pages_of_the_system(broker)
    )


def fill_games(names: Sequence[str]) -> dict[str, str]:
    """Play a match of each game; return their pages after the first move: some have one alone."""
    return {f"match-{name}": f"/matches/{play_match(name).pk}/?step=1" for name in names}


def pages_of_a_board() -> dict[str, str]:
    """Play a tournament to its end; return its pages and those of what took part."""
    tournament = boards.played_board()
    board = tournament.leaderboard
    trained(board, GEOMETRIC)
    keep_history(board)
    best = Agent.objects.get(name="mcts:100")
    train(best)
    remember(tournament, best)
    match = Match.objects.filter(outcome__is_forfeit=False).latest("pk")
    forfeit = Match.objects.filter(outcome__is_forfeit=True).latest("pk")
    struck = Match.objects.filter(outcome__is_forfeit=False).earliest("pk")
    wrong = "IllegalActionError: connect_four: 7 is not in 0..6 (connect_four.py:70)"
    forfeit.attempts.update(detail=f"arena.errors.{wrong}")
    for each in (match, forfeit, struck):
        give_moves(each, "connect_four")
    _strike(struck, match)
    Leaderboard.objects.filter(pk=board.pk).update(n_counted=F("n_settled"))
    words = "The rules change tomorrow."
    Leaderboard.objects.filter(pk=board.pk).update(is_pinned=True)
    season = seasons.freeze(board, "autumn 2026", actor=Actor("ada"), reason=words, now=NOW)
    return {
        "home": "/",
        "board": f"/leaderboards/{board.name}/",
        "board-chosen": f"/leaderboards/{board.name}/?q=a&sort=forfeits",
        "board-nothing-found": f"/leaderboards/{board.name}/?q=zzz",
        "boards": "/leaderboards/",
        "season": f"/leaderboards/{board.name}/seasons/{season.pk}/",
        "agent": f"/agents/{best.pk}/",
        "tournament": f"/tournaments/{tournament.pk}/",
        "match": f"/matches/{match.pk}/",
        "match-replayed": f"/matches/{match.pk}/?step=5",
        "match-forfeit": f"/matches/{forfeit.pk}/",
        "match-struck": f"/matches/{struck.pk}/",
    }


def pages_of_a_suite() -> dict[str, str]:
    """Play two of the tasks of LLMServe, one of them on two leaderboards; return its pages."""
    agents = ("llmserve_rules", "llmserve_fixed", "llmserve_lookahead", "random")
    rng = Random(1)
    for board, game in (
        ("bursts", "llmserve_bursty_workload"),
        ("more-bursts", "llmserve_bursty_workload"),
        ("steady", "llmserve_static_workload"),
    ):
        played = factories.planned(48, game=game, board=board, agents=agents, seed=len(board))
        boards.play_some(
            played,
            48,
            lambda row: msgspec.structs.replace(
                factories.result(row, ranks=[0]),
                returns=[(row.game_seed % 50 + rng.randrange(20) * (1 + row.match % 3)) / 200],
            ),
        )
        rater.rate(played.leaderboard_id, now=NOW)
    Agent.objects.filter(name="llmserve_fixed").update(name=LONG)
    return {"suite": "/suites/llmserve/"}


def pages_of_training() -> dict[str, str]:
    """Let a run go on, one wait for its first version, another have failed; return their pages."""
    now = db_now()
    run = trained_runs.make_run(now=now, order=UUID(int=1), slice=4, reported_slice=4)
    trained_runs.teach(run, 96, now=now)
    trained_runs.judge(run, now=now)
    trained_runs.upload(run, 8, now=now)
    first = Agent.objects.filter(checkpoint__run=run.name).earliest("pk")
    trained_runs.make_run("climbers", game="mountain_car", now=now)
    problem = "5 slices in a row were lost: look into the logs of trainers"
    over = {"has_group": False, "is_closed": True, "state": "failed", "problem": problem}
    failed = trained_runs.make_run(LONG[:60], now=now, ended_at=now, **over)
    trained_runs.teach(failed, 2, now=now)
    return {
        "runs": "/runs/",
        "run": f"/runs/{run.name}/",
        "run-begun": "/runs/climbers/",
        "models": f"/models/?agent={first.pk}&purpose=teacher",
    }


def _pages_of_what_waits() -> dict[str, str]:
    # Of a seed of its own: else all of it is known from the tournament that was played.
    running = factories.planned(
        420, agents=boards.SEARCHERS, game="connect_four", board="slow", seed=2
    )
    boards.play_some(running, 60, boards.by_strength())
    Leaderboard.objects.filter(name="slow").update(title=f"Slow: {LONG}"[:120])
    held = Agent.objects.filter(name="random").latest("pk")
    Agent.objects.filter(pk=held.pk).update(
        name=LONG, quarantined_at=NOW, quarantine_reason="It crashed in 12 of 20 matches."
    )
    waiting = Match.objects.filter(tournament=running).latest("pk")
    paused = factories.planned(12, board="paused")
    Tournament.objects.filter(pk=paused.pk).update(state=Tournament.State.PAUSED)
    return _pages_in_rounds() | {
        "board-unrated": "/leaderboards/slow/",
        "tournament-running": f"/tournaments/{running.pk}/",
        "tournament-paused": f"/tournaments/{paused.pk}/",
        "match-pending": f"/matches/{waiting.pk}/",
        "agent-quarantined": f"/agents/{held.pk}/",
    }


def _pages_in_rounds() -> dict[str, str]:
    """Play a knockout that its budget stops, and groups with their final."""
    agents = [f"level:{level}" for level in range(5, 95, 10)]
    small = {"group_size": 4, "rounds": 2, "stages": 1, "finalists": 3}
    plans = {"knockout": {}, "groups": small, "swiss": {}}
    pages = {}
    for pairing, parameters in plans.items():
        cup = factories.scheduled(
            200, agents=agents, board=pairing, pairing=pairing, pairing_parameters=parameters
        )
        for step in range(2 if pairing == "knockout" else 9):
            planning.plan_scheduled(now=NOW)
            if Match.objects.filter(Match.is_open(), tournament=cup).exists():
                boards.play_some(cup, 200, boards.by_strength(step, forfeits=0))
                rater.rate(cup.leaderboard_id, now=NOW)
        pages[f"tournament-{pairing}"] = f"/tournaments/{cup.pk}/"
    stopped = Tournament.objects.filter(pairing="knockout")
    stopped.update(n_matches=F("n_planned"))
    # Recording plans ahead: what is open belongs to the budget, too.
    boards.play_some(stopped.get(), 200, boards.by_strength(2, forfeits=0))
    stopped.update(state=Tournament.State.DONE, finished_at=NOW)
    return pages


def _pages_of_the_system(broker: Redis) -> dict[str, str]:
    make_busy(broker)
    day_costs.book_costs(now=db_now())
    tally_up(AttemptCounter(), 40)
    node, bad = (Worker.objects.get(node=name) for name in ("node-1", "node-3"))
    Worker.objects.filter(pk=bad.pk).update(
        quarantined_at=NOW, quarantine_reason="Its results differ from those of others."
    )
    return {
        "games": "/games/",
        "game": "/games/connect_four/",
        "system": "/system/",
        "health": "/health/",
        "node": f"/system/nodes/{node.pk}/",
        "node-quarantined": f"/system/nodes/{bad.pk}/",
    }


def _strike(struck: Match, again: Match) -> None:
    """Let people have struck a match, and another be played in its place."""
    Match.objects.filter(pk=struck.pk).update(state=Match.State.VOID, void_reason="operator")
    of = Tournament.objects.filter(pk=struck.tournament_id)
    of.update(n_done=F("n_done") - 1, n_void=F("n_void") + 1)
    words = {"actor": "ada", "reason": "The rules were wrong until noon.", "was_done": True}
    Voiding.objects.create(match=struck, at=NOW, **words)
    Replacement.objects.create(replaced=struck, match=again, at=NOW)


def play_match(game: str) -> Match:
    """Play a match of a game, and give it moves to walk through."""
    n_seats = games.get(game).spec.n_seats
    agents = [
        Agent.objects.create(name=f"{name} of {game}", game=game, policy="random")
        for name in ("amber", "birch", "cedar", "dune")[: max(2, n_seats)]
    ]
    tournament = factories.planned(n_seats, agents=agents, game=game, board=game)
    ranks = [0, *[n_seats // 2] * (n_seats - 1)] if n_seats < len("pair") else [0, 2, 0, 2]
    returns = [7.0] if n_seats == 1 else []
    boards.play_some(
        tournament,
        n_seats,
        lambda row: msgspec.structs.replace(factories.result(row, ranks=ranks), returns=returns),
    )
    match = Match.objects.filter(tournament=tournament).earliest("pk")
    give_moves(match, game)
    return match


def give_moves(match: Match, game: str) -> None:
    """Let a random game that its winner wins, long enough to walk through, be what was played."""
    played = [_play_at_random(games.get(game), match.game_seed, Random(n)) for n in range(20)]
    winner = parse_numbers(match.outcome.ranks).index(0)
    fitting = [state for state in played if state.returns()[winner] == max(state.returns())]
    moves = max(
        (state.actions for state in fitting or played), key=lambda made: min(len(made), SHORTEST)
    )
    if match.outcome.is_forfeit:
        moves = moves[:-UNPLAYED]
    rng = Random(match.game_seed)
    notes = [
        note_time(rng.lognormvariate(-4, 1)) + (note_value(sin(n / 3)) if n % 2 else 0)
        for n in range(len(moves))
    ]
    Outcome.objects.filter(match=match).update(
        actions=" ".join(map(str, moves)), notes=pack_notes(notes)
    )


def _play_at_random(rules: Game, game_seed: int, rng: Random) -> State:
    state = rules.start(game_seed, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < 60:
        state.apply(rng.choice(list(state.legal_actions())))
    return state


def train(agent: Agent) -> None:
    """Give an agent a checkpoint of the fourth generation."""
    parent = None
    for generation in range(4):
        parent = Checkpoint.objects.create(
            sha256=f"{generation:x}" * 64,
            game=agent.game,
            architecture="rescnn",
            run="connect four, first run",
            step=1_000 * 4**generation,
            parent=parent,
            source_name="weights.safetensors",
            n_bytes=120_000,
            state="ready",
            n_parameters=28_417,
            row_ms=0.21,
            measured_placement="local",
            created_at=NOW,
        )
    Agent.objects.filter(pk=agent.pk).update(checkpoint=parent)


def remember(tournament: Tournament, agent: Agent) -> None:
    """Keep a history in which the agent becomes stronger and surer."""
    rating = Rating.objects.get(agent=agent)
    rng, start = Random(1), db_now() - timedelta(minutes=130)
    for minute in range(90):
        mu = rating.mu - 6 * (0.96**minute) + rng.gauss(0, 0.2)
        sd = rating.sd + 3 * 0.95**minute
        row = [agent.pk, mu, sd, mu, 1.0, mu - 1.8 * sd, mu + 2.2 * sd]
        RatingSnapshot.objects.create(
            leaderboard=tournament.leaderboard,
            taken_at=start + timedelta(minutes=minute),
            n_outcomes=minute,
            results_hash=str(minute),
            table=zlib.compress(json.dumps([row]).encode()),
        )


def keep_history(board: Leaderboard) -> None:
    """Take a snapshot a minute of ratings that come together and of a pace that changes."""
    final = {rating.pk: (rating.mu, rating.sd) for rating in Rating.objects.all()}
    now = db_now()
    for minute in range(40):
        share = 1 - 0.9 ** (minute + 1)
        for place, (pk, (mu, sd)) in enumerate(final.items()):
            wobble = 2 * sin(minute + place) * (1 - share)
            then, doubt = 25 + (mu - 25) * share + wobble, sd / share
            ends = {"low": then - 1.8 * doubt, "high": then + 2.2 * doubt}
            Rating.objects.filter(pk=pk).update(mu=then, sd=doubt, **ends)
        at = now - timedelta(minutes=39 - minute)
        counts = {"n_settled": 60 * minute + 5 * (minute % 7) ** 2, "results_hash": str(minute)}
        Leaderboard.objects.filter(pk=board.pk).update(rated_at=at, **counts)
        assert snapshots.take_due(now=at) == 1


def make_busy(broker: Redis) -> None:
    """Arrange a system with something of everything."""
    now = db_now()
    tournament = factories.planned(60, board="busy")
    for number in range(1, 4):
        files = {"games/my_game": "3fa9" * 16}
        able = ["cpu", "torch", "mujoco"][: number + 1]
        factories.alive(node=f"node-{number}", capabilities=able, plugins=files, now=now)
    factories.alive(node="spot-1", labels=SPOT_LABELS, slots=16, now=now)
    factories.alive(node="gpu-1", capabilities=["gpu"], slots=1, now=now)
    factories.alive(node="spot-2", capabilities=["cpu", "spot"], now=now - 4 * PLAYING_LEASE)
    factories.start(factories.ordered(tournament, 8, now=now), now=now)
    factories.ordered(tournament, 8, now=now)
    RecorderMark.objects.update_or_create(pk=1, defaults={"marked_at": now})
    fail(list(Match.objects.filter(tournament=tournament).order_by("-pk")[:9]))
    serving = Serving("gpu-1", [0], 5, 3, 812.0, 40.0, 6_496.0, 6.1, 22.4, 0)
    broker.set(serving_key("gpu-1"), msgspec.json.encode(serving))


def fail(matches: Sequence[Match]) -> None:
    """Let attempts at matches have failed, for three reasons in turn."""
    kinds = [("failed", "error"), ("interrupted", "node_lost"), ("interrupted", "gpu_lost")]
    Attempt.objects.bulk_create(
        Attempt(match=m, number=1, ending=e, reason=r, node="node-1", ended_at=db_now())
        for m, (e, r) in zip(matches, kinds * 3, strict=True)
    )


def tally_up(tally: AttemptCounter, n_seconds: int) -> None:
    """Let control have looked for a while, as matches were recorded."""
    start = db_now() - n_seconds * pushing.MIN_INTERVAL
    for second in range(n_seconds):
        now = start + second * pushing.MIN_INTERVAL
        tally.note([Kind("done", "")] * (60 + (second * 37) % 50))
        tally.flush(now=now)
        pushing.push_sample(now=now)
