"""Names of queues and keys, which rights go by."""

from arena.queues import serving_key


def test_every_gpu_worker_has_a_place_for_what_it_says() -> None:
    assert serving_key("gpu-7") == "inf:metrics:gpu-7"
    # Functions and rights of players name keys by a shard in braces.
    assert "{" not in serving_key("gpu-7")
