"""Experience of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite_client.calls import Calls


@dataclass(frozen=True)
class Accepted:
    """The chunk is on the stream server's disk: now (202), or it was before (200).

    accepted: Steps that were added.
    duplicate: The chunk was accepted before.
    latest_policy_version: What clients should play by now; -1: there is none.
    keep_fraction: How much of its next data the client should send: 1 while readers keep up.
    """

    accepted: int
    duplicate: bool
    latest_policy_version: int
    keep_fraction: float


class Experience(Calls):
    """Upload a chunk of experience. Its id is the key: sent again, it is stored once."""

    def create(
        self,
        *,
        v: int,
        game: str,
        chunk_id: str,
        policy_version: int,
        episodes: Sequence[int],
        steps: Sequence[int],
        observations: Sequence[Sequence[float]],
        next_observations: Sequence[Sequence[float]],
        actions: Sequence[int],
        rewards: Sequence[float],
        terminated: Sequence[bool],
        truncated: Sequence[bool],
        log_probs: Sequence[float | None],
    ) -> Accepted:
        """Upload a chunk of experience. Its id is the key: sent again, it is stored once.

        chunk_id: A UUID that the client draws.
        policy_version: -1: no policy of ours, such as a human.
        next_observations: At the end of an episode its last one, not the first of the next.
        log_probs: Of the action under the policy that chose it; null where it is not known.
        """
        return self._post(
            Accepted,
            "experience",
            {
                "v": v,
                "game": game,
                "chunk_id": chunk_id,
                "policy_version": policy_version,
                "episodes": episodes,
                "steps": steps,
                "observations": observations,
                "next_observations": next_observations,
                "actions": actions,
                "rewards": rewards,
                "terminated": terminated,
                "truncated": truncated,
                "log_probs": log_probs,
            },
            key=None,
        )
