"""The state of the system for Prometheus: what control saw, so that a scrape costs no look."""

from collections.abc import Iterator
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from arena.messages import Serving
from matches.operations.system.sample import Sample, SystemState
from matches.operations.system.standstill import PAUSED

# Of the database: these figures were read there.
PARTS = ("broker", "fast store", "database")


def export_metrics(state: SystemState, *, now: datetime) -> Iterator[Metric]:
    """Yield every figure of a state; what is not known is left out."""
    sample = state.sample
    ages = {"evalsite_sample_age_seconds": ("since the system was looked at", sample.at)}
    if state.control_at is not None:
        ages["evalsite_control_age_seconds"] = ("since control ticked", state.control_at)
    for name, (words, at) in ages.items():
        yield _make_gauge(name, f"Time {words}", (now - at).total_seconds())
    yield from _export_cluster(sample)
    yield from _export_queues(sample)
    ended = CounterMetricFamily(
        "evalsite_attempts", "Attempts that ended so", labels=["ending", "reason"]
    )
    for tallied in sample.tallies:
        ended.add_metric([tallied.ending, tallied.reason], tallied.n)
    yield ended
    yield from _export_delays(sample)
    yield from _export_inference(sample.serving)


def _export_cluster(sample: Sample) -> Iterator[Metric]:
    nodes = _make_gauges("evalsite_nodes", "Nodes that are alive", "kind")
    nodes.add_metric(["play"], sample.counts.n_play)
    nodes.add_metric(["gpu"], sample.counts.n_gpu)
    nodes.add_metric(["server"], sample.counts.n_servers)
    yield nodes
    yield _make_gauge(
        "evalsite_nodes_lost", "Nodes lost within the last hour", sample.counts.n_lost
    )
    yield _make_gauge("evalsite_slots", "Matches that can be played at once", sample.counts.n_slots)
    yield _make_gauge(
        "evalsite_desired_nodes", "Play nodes that play what waits in time", sample.counts.n_desired
    )
    yield _make_gauge(
        "evalsite_backlog_slot_seconds", "Work that waits, in slots", sample.counts.backlog_s
    )
    yield _make_gauge("evalsite_standstill", "1 when nothing can play", bool(sample.standstill))
    n_under_way = sum(tournament.state != PAUSED for tournament in sample.tournaments)
    words = "Tournaments that are not over and not paused, of the newest"
    yield _make_gauge("evalsite_tournaments_under_way", words, n_under_way)
    slots = _make_gauges("evalsite_server_slots", "Slots of game servers", "state")
    slots.add_metric(["taken"], sample.counts.n_server_slots_taken)
    slots.add_metric(
        ["free"], max(0, sample.counts.n_server_slots - sample.counts.n_server_slots_taken)
    )
    yield slots
    parts = _make_gauges("evalsite_part_up", "1 when the part answered", "part")
    for part in PARTS:
        parts.add_metric([part], part not in sample.trouble)
    yield parts


def _export_queues(sample: Sample) -> Iterator[Metric]:
    lengths = _make_gauges("evalsite_queue_messages", "Messages in a queue of the broker", "queue")
    oldest = _make_gauges("evalsite_queue_oldest_seconds", "How long the oldest waits", "queue")
    takers = _make_gauges("evalsite_queue_takers", "Nodes alive that take from it", "queue")
    for queue in sample.queues:
        for family, value in (
            (lengths, queue.length),
            (oldest, queue.oldest_s),
            (takers, queue.n_takers),
        ):
            if value is not None:
                family.add_metric([queue.name], value)
    yield from (lengths, oldest, takers)


def _export_delays(sample: Sample) -> Iterator[Metric]:
    delays = sample.delays
    # Left out while it is not known: 0 would keep an alarm quiet.
    if delays.recorder_s is not None:
        words = "How far the slowest recorder is behind"
        yield _make_gauge("evalsite_recorder_lag_seconds", words, delays.recorder_s)
    # None: nothing waits, which is a lag of 0.
    words = "How long the first outcome that is not counted has waited"
    yield _make_gauge("evalsite_rating_lag_seconds", words, delays.rating_s or 0.0)
    yield _make_gauge("evalsite_outcomes_uncounted", "Outcomes not counted yet", sample.n_uncounted)
    waits = _make_gauges(
        "evalsite_start_wait_seconds", "From publishing to start, newest orders", "quantile"
    )
    for quantile, wait_s in (("0.5", delays.start_p50_s), ("0.99", delays.start_p99_s)):
        if wait_s is not None:
            waits.add_metric([quantile], wait_s)
    yield waits


def _export_inference(serving: list[Serving]) -> Iterator[Metric]:
    rows = _make_gauges("evalsite_inference_rows_per_second", "Rows answered", "gpu")
    forwards = _make_gauges("evalsite_inference_forwards_per_second", "Forwards made", "gpu")
    models = _make_gauges("evalsite_inference_models", "Models loaded", "gpu")
    waiting = _make_gauges("evalsite_inference_waiting", "Requests that wait", "gpu")
    answers = GaugeMetricFamily(
        "evalsite_inference_answer_seconds", "From asking to the answer", labels=["gpu", "quantile"]
    )
    for server in serving:
        rows.add_metric([server.gpu], server.rows_per_s)
        forwards.add_metric([server.gpu], server.forwards_per_s)
        models.add_metric([server.gpu], server.n_models)
        waiting.add_metric([server.gpu], server.n_waiting)
        for quantile, ms in (("0.5", server.p50_ms), ("0.99", server.p99_ms)):
            if ms is not None:
                answers.add_metric([server.gpu, quantile], ms / 1000)
    yield from (rows, forwards, models, waiting, answers)


def _make_gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


def _make_gauges(name: str, words: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, labels=[label])
