"""Which rows each shard takes: planned once, so that a shard is written anew to the same bytes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Plan = list[list[int]]
"""Of uploads: segment, first row, row behind the last. Of matches: match, then the seats."""


@dataclass
class ShardPlan:
    """A shard to be written."""

    number: int
    first_episode: int
    plan: Plan = field(default_factory=list)
    n_episodes: int = 0
    n_steps: int = 0


def cut_shards(
    episodes: Iterable[tuple[Plan, int]], *, shard_steps: int, most_steps: int
) -> Iterator[ShardPlan]:
    """Yield plans of whole episodes, each with its steps: as many as fit, at least one each.

    Ends before the episode with which there would be more than most_steps.
    """
    shard, n_before = ShardPlan(0, 0), 0
    for plan, n_steps in episodes:
        if n_before + shard.n_steps + n_steps > most_steps:
            break
        if shard.n_steps and shard.n_steps + n_steps > shard_steps:
            yield shard
            n_before += shard.n_steps
            shard = ShardPlan(shard.number + 1, shard.first_episode + shard.n_episodes)
        shard.plan += plan
        shard.n_episodes += 1
        shard.n_steps += n_steps
    if shard.n_steps:
        yield shard


def merge_ranges(ranges: Iterable[list[int]]) -> Plan:
    """Return the ranges of rows with those joined that lie behind one another."""
    merged: Plan = []
    for segment, start, end in ranges:
        if merged and merged[-1][0] == segment and merged[-1][2] == start:
            merged[-1][2] = end
        else:
            merged.append([segment, start, end])
    return merged
