"""Names of queues and tasks, and which of several a row goes to.

Processes that share no code but this find each other by them.
"""

from arena.seeding import derive

# Names by which processes call each other: a rename strands what is in the queues.
PLAY_TASK = "workers.play"
RECORD_TASK = "matches.record"
DRAIN_TASK = "inference.drain"
CHECK_TASK = "inference.check"
TRAIN_TASK = "training.train"
EXPERIENCE_RECORD_TASK = "experience.record"
EXPERIENCE_ALIVE_TASK = "experience.alive"
REPORTS_QUEUE = "reports"
TRAIN_QUEUE, TRAINED_QUEUE = "train", "trained"
# So that one pattern of keys, `reports.[1-9]`, names every queue of reports but the first.
MAX_RECORDERS = 10


def play_queue(node: str) -> str:
    """Return the name of the queue of a play node: what it consumes, and nobody else."""
    return f"play.{node}"


def reports_queue(shard: int) -> str:
    """Return the name of the queue of reports of that shard of the tournaments."""
    return f"{REPORTS_QUEUE}.{shard}" if shard else REPORTS_QUEUE


def shard_of(tournament: int, n_recorders: int) -> int:
    """Return the shard of a tournament.

    Not the id modulo N: what is rehearsed and rolled back takes an id, too, so that every
    tournament of `evaluate` on PostgreSQL had an even one, and one recorder all the work.
    """
    return derive("recorder", tournament) % n_recorders


def reports_aside(queue: str) -> str:
    """Return the list of what a queue's recorder has taken and not recorded yet."""
    return f"{queue}.aside"


def recorder_name(shard: int) -> str:
    """Return the name of the program that records that shard of the tournaments."""
    return f"recorder-{shard + 1}" if shard else "recorder"


def gpu_queue(shard: int) -> str:
    """Return the name of the queue of that shard of the checkpoints."""
    return f"gpu.{shard}" if shard else "gpu"


def serving_key(gpu: str) -> str:
    """Return where the fast store keeps what a gpu worker said of itself last."""
    return f"inf:metrics:{gpu}"
