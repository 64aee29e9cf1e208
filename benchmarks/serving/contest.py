"""The 500-battle benchmark: the stack against a copy of both networks per worker."""

from pathlib import Path
from typing import Any

from arena.games import registry as games
from benchmarks.serving import stack_battles
from benchmarks.serving.battles import GAME, N_WORKERS, Played, busy_s, run
from benchmarks.serving.copies import CopySideMaker
from benchmarks.serving.networks import Checkpoint, Size, checkpoint
from benchmarks.serving.ours import OurSideMaker, our_server

EXACT = {"EVALSITE_DETERMINISTIC": "1"}


def measure(size: Size, n: int, folder: Path) -> dict[str, Any]:
    """Play n battles thrice: on the stack, by clients of the queue alone, and with copies.

    All play the matches that the stack has planned, with the same seeds and randomness.
    """
    spec, cache = games.get(GAME).spec, folder / "cache"
    seal = size.seal(GAME, spec.observation_shape, spec.n_actions)
    two = [checkpoint(seal, cache, seed=seed) for seed in (1, 2)]
    ours = stack_battles.run(n, [one.path for one in two])
    clients, clients_cpu_s = _clients(ours, two, folder)
    copies = run(ours.battles, CopySideMaker([one.path for one in two]))
    return {
        "network": size.name,
        "battles": n,
        "workers": N_WORKERS,
        "ours_s": ours.wall_s,
        "copies_s": copies.wall_s,
        "ratio": copies.wall_s / ours.wall_s,
        "ours_cpu_s": sum(ours.cpu_s.values()),
        "copies_cpu_s": copies.cpu_s,
        "cpu_ratio": copies.cpu_s / sum(ours.cpu_s.values()),
        "ours_cpu_by_program_s": ours.cpu_s,
        "clients_s": clients.wall_s,
        "clients_cpu_s": clients_cpu_s,
        "clients_ratio": copies.wall_s / clients.wall_s,
        "clients_cpu_ratio": copies.cpu_s / clients_cpu_s,
        "wins": {"ours": _named(ours), "clients": _named(clients), "copies": _named(copies)},
        "wins_equal": ours.wins == copies.wins == clients.wins,
        "outcomes_equal": ours.ranks == copies.ranks == clients.ranks,
        "loads_ours": round(ours.counts.get("models_loaded", 0)),
        "loads_copies": copies.n_loads,
        "loads_per_checkpoint_ours": round(ours.counts.get("models_loaded", 0)) / len(two),
        "rows_per_forward_ours": ours.counts["rows"] / ours.counts["forwards"],
        "rows_per_forward_copies": 1.0,
        "gpu_workers": stack_battles.N_GPUS,
        "utilisation_ours": ours.counts["inference_service_seconds_sum"]
        / (ours.wall_s * stack_battles.N_GPUS),
        "utilisation_copies": busy_s(copies.spells) / copies.wall_s,
    }


def _clients(
    ours: stack_battles.OnStack, two: list[Checkpoint], folder: Path
) -> tuple[Played, float]:
    """Return what clients of the queue alone did, and the CPU seconds of all processes."""
    with our_server(folder / "clients", folder / "cache", EXACT) as queue:
        maker = OurSideMaker(queue.environment, [one.sha256 for one in two])
        before = queue.served.cpu_s()
        played = run(ours.battles, maker)
        return played, played.cpu_s + queue.served.cpu_s() - before


def _named(played: "Played | stack_battles.OnStack") -> dict[str, int]:
    return {"first": played.wins[0], "second": played.wins[1], "draws": played.wins[-1]}
