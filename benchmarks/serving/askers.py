"""How a client asks each server. No torch: a client that asks others needs none."""

import base64
from dataclasses import dataclass

import numpy as np
import zmq
from celery import Celery

from arena.policies.network_policy import FloatBatch
from benchmarks.serving.load import Asker

FORWARD_TASK = "bench.forward"


@dataclass(frozen=True)
class ZmqMaker:
    """Connects a client to the ideal ZMQ server."""

    address: str
    network: str
    n_actions: int

    def __call__(self, client: int) -> Asker:
        del client
        return _ZmqAsker(self)


class _ZmqAsker:
    def __init__(self, maker: ZmqMaker) -> None:
        self._network, self._width = maker.network.encode(), maker.n_actions + 1
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.connect(maker.address)

    def ask(self, observations: FloatBatch) -> FloatBatch:
        self._socket.send_multipart((self._network, observations.tobytes()))
        answer = np.frombuffer(self._socket.recv(), dtype=np.float32)
        return answer.reshape(-1, self._width)[:, :-1]


def celery_app(url: str) -> Celery:
    """Return a Celery app with Redis results that are not kept for long."""
    app = Celery("bench", broker=url, backend=url)
    app.conf.result_expires = 60
    return app


@dataclass(frozen=True)
class CeleryMaker:
    """Connects a client to a worker of plain Celery: one task per request, base64 in JSON."""

    url: str
    network: str
    n_actions: int

    def __call__(self, client: int) -> Asker:
        del client
        return _CeleryAsker(self)


class _CeleryAsker:
    def __init__(self, maker: CeleryMaker) -> None:
        self._network, self._n_actions = maker.network, maker.n_actions
        self._app = celery_app(maker.url)

    def ask(self, observations: FloatBatch) -> FloatBatch:
        packed = base64.b64encode(observations.tobytes()).decode()
        waiting = self._app.send_task(FORWARD_TASK, (self._network, packed))
        answer = np.frombuffer(base64.b64decode(waiting.get()), dtype=np.float32)
        return answer.reshape(-1, self._n_actions + 1)[:, :-1]
