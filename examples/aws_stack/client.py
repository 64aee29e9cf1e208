"""Plays CartPole and writes each step to Kinesis as a record; run in the tool `spark`.

    python -m examples.aws_stack.client --stream experience --episodes 100

With --model it plays a network that the platform has published, from an address such as a signed
link or from s3://BUCKET/KEY; without one it pushes at random.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import urlopen

import gymnasium
import numpy as np
from numpy.random import Generator

from evalsite_client.experience.environments import GAMES
from evalsite_client.experience.playing import MOST_SEED, choose_action
from evalsite_client.experience.policies import Mlp, build_policy
from evalsite_client.experience.weights import Floats, read_weights
from examples.aws_stack.cloud import connect

ENVIRONMENT: Final = "CartPole-v1"
MOST_AT_ONCE: Final = 500
"""Records of one PutRecords."""
SHAPE, N_ACTIONS = (4,), 2

Record = dict[str, Any]


class Writer:
    """Writes records of one client, each until Kinesis has taken it."""

    def __init__(self, kinesis: Any, stream: str, client: str) -> None:
        """client: the partition key, so that its records stay together in one shard."""
        self._kinesis, self._stream, self._client = kinesis, stream, client
        self._waiting: list[Record] = []
        self.taken: list[str] = []
        """Shard and sequence number of each, as Kinesis has given them."""

    def add(self, record: Record) -> None:
        """Take a record; write what has gathered once it is as much as Kinesis takes at once."""
        self._waiting.append({"client": self._client, **record})
        if len(self._waiting) == MOST_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write all that has gathered. What a shard refuses for a moment is written again."""
        while self._waiting:
            entries = [
                {"Data": json.dumps(one).encode(), "PartitionKey": self._client}
                for one in self._waiting
            ]
            answer = self._kinesis.put_records(StreamName=self._stream, Records=entries)
            results = answer["Records"]
            self.taken += [
                f"{one['ShardId']} {one['SequenceNumber']}"
                for one in results
                if "SequenceNumber" in one
            ]
            pairs = zip(self._waiting, results, strict=True)
            self._waiting = [record for record, one in pairs if "SequenceNumber" not in one]


def play(policy: Mlp | None, version: int, *, n_episodes: int, rng: Generator) -> Iterator[Record]:
    """Yield the steps of so many episodes."""
    environment: Any = gymnasium.make(ENVIRONMENT)
    # Other clients number theirs, too.
    first, number = int(rng.integers(2**40)) << 20, 0
    for episode in range(n_episodes):
        seen, _ = environment.reset(seed=int(rng.integers(MOST_SEED)))
        step, is_over = 0, False
        while not is_over:
            action, log_prob = _act(policy, seen, rng)
            after, reward, terminated, truncated, _ = environment.step(action)
            yield {
                "number": number,
                "game": GAMES[ENVIRONMENT],
                "policy_version": version,
                "episode": first + episode,
                "step": step,
                "observation": _list_floats(seen),
                "next_observation": _list_floats(after),
                "action": action,
                "reward": float(reward),
                "terminated": bool(terminated),
                "truncated": bool(truncated),
                "log_prob": log_prob,
            }
            seen, step, number = after, step + 1, number + 1
            is_over = terminated or truncated


def load_policy(address: str, endpoint: str) -> Mlp:
    """Return a network from an address or from S3; nothing of it is unpickled."""
    place = urlsplit(address)
    if place.scheme == "s3":
        stored = connect("s3", endpoint).get_object(Bucket=place.netloc, Key=place.path[1:])
        content = stored["Body"].read()
    else:
        with urlopen(address, timeout=30) as answer:
            content = answer.read()
    return build_policy(
        read_weights(content), game=GAMES[ENVIRONMENT], observation_shape=SHAPE, n_actions=N_ACTIONS
    )


def _act(policy: Mlp | None, seen: Floats, rng: Generator) -> tuple[int, float]:
    if policy is None:
        return int(rng.integers(N_ACTIONS)), float(np.log(np.float32(1 / N_ACTIONS)))
    return choose_action(policy, seen, rng)


def _list_floats(row: Floats) -> list[float]:
    return [float(value) for value in row]


def read_options() -> argparse.Namespace:
    """Return the command's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stream", required=True)
    parser.add_argument("--endpoint", default="", help="of Kinesis and S3; none: AWS itself")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--model", default="", help="address or s3://BUCKET/KEY of its network")
    parser.add_argument("--version", type=int, default=-1, help="of that network; -1: unknown")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--receipts", type=Path, help="file of shards and numbers that were given")
    return parser.parse_args()


def main() -> None:
    """Play and write."""
    options = read_options()
    rng = np.random.default_rng(options.seed)
    policy = load_policy(options.model, options.endpoint) if options.model else None
    client = rng.bytes(16).hex()
    writer = Writer(connect("kinesis", options.endpoint), options.stream, client)
    returns: list[int] = []
    for record in play(policy, options.version, n_episodes=options.episodes, rng=rng):
        writer.add(record)
        if record["terminated"] or record["truncated"]:
            returns.append(record["step"] + 1)
    writer.write()
    if options.receipts:
        options.receipts.write_text("".join(f"{number}\n" for number in writer.taken))
    print(f"{len(writer.taken)} steps written, mean return {np.mean(returns):.1f}")


if __name__ == "__main__":
    main()
