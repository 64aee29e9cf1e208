"""An API server of SkyPilot in the test: answers in the shapes recorded from version 0.14.1."""

import base64
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gameservers.discovery.transport import Call, Reply

REQUEST_ID = "122ec072-31c0-4513-a850-fb941b3908f6"


class Bomb:
    """Makes a file when somebody unpickles it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.marker}",)


def pickled(marker: Path) -> str:
    return base64.b64encode(pickle.dumps(Bomb(marker))).decode()


def cluster(name: str, status: str = "UP", **own: Any) -> dict[str, Any]:
    return {
        "name": name,
        "launched_at": 1795549661,
        "status": status,
        "autostop": -1,
        "to_down": False,
        "cluster_hash": f"c93d77f6-{name}",
        "cluster_ever_up": True,
        "user_hash": "fcd1e5cf",
        "workspace": "default",
        "is_managed": False,
        "resources_str": "1x(cpus=4, mem=8, ...)",
        "nodes": 1,
        "labels": {},
        "handle": "gAROLg==",
        "storage_mounts_metadata": "gAROLg==",
        **own,
    }


def service(name: str, status: str = "READY", *, ready: int = 1, failed: int = 0) -> dict[str, Any]:
    states = ["READY"] * ready + ["FAILED"] * failed
    return {
        "name": name,
        "status": status,
        "active_versions": [1],
        "controller_job_id": 1,
        "uptime": 1795549661,
        "controller_port": 20001,
        "load_balancer_port": 30001,
        "endpoint": "10.1.9.9:30001",
        "tls_encrypted": False,
        "pool": False,
        "policy": "Autoscaling from 1 to 5 replicas",
        "load_balancing_policy": "least_load",
        "requested_resources_str": "1x(cpus=4+, mem=8+, [spot])",
        "replica_info": [
            {
                "replica_id": number,
                "name": f"{name}-{number}",
                "status": state,
                "version": 1,
                "endpoint": f"http://10.1.8.{number}:8081" if state == "READY" else None,
                "is_spot": True,
                "launched_at": 1795549661,
                "handle": "gAROLg==",
            }
            for number, state in enumerate(states, 1)
        ],
    }


class FakeSkyPilot:
    """Answers calls; `results` and `failures` are by path, endpoints by cluster."""

    def __init__(self) -> None:
        self.clusters: list[Any] = []
        self.services: list[Any] = []
        self.endpoints: dict[str, Any] = {}
        self.failures: dict[str, tuple[str, str]] = {}
        # Answers instead of ours, by method and path.
        self.replies: dict[str, Reply] = {}
        self.calls: list[tuple[Call, Any]] = []
        self.object = "gAROLg=="
        self._requests: dict[str, tuple[str, Any]] = {}

    def list_arguments(self, path: str) -> list[Any]:
        """Return the arguments of the calls of a path."""
        return [body for call, body in self.calls if call.url.endswith(path)]

    async def __call__(self, call: Call) -> Reply:
        path = call.url.removeprefix("http://api:46580").partition("?")[0]
        body = json.loads(call.body) if call.body else None
        self.calls.append((call, body))
        if reply := self.replies.get(f"{call.method} {path}"):
            return reply
        if call.method == "POST":
            request = f"{REQUEST_ID}-{len(self._requests)}"
            self._requests[request] = (path, body)
            return Reply(200, {"x-skypilot-request-id": request}, b"null")
        path, body = self._requests[call.url.partition("request_id=")[2]]
        return self._finish(path, body)

    def _finish(self, path: str, body: Any) -> Reply:
        key = f"{path} {body['cluster']}" if path == "/endpoints" else path
        if failure := self.failures.get(key):
            kind, message = failure
            error = {"object": self.object, "type": kind, "message": message}
            record = self._record("FAILED", None, error)
            return Reply(500, {}, json.dumps({"detail": record}).encode())
        result: Any
        if path == "/status":
            result = self.clusters
        elif path == "/serve/status":
            result = self.services
        else:
            result = self.endpoints.get(body["cluster"], {})
        return Reply(200, {}, json.dumps(self._record("SUCCEEDED", result, None)).encode())

    def _record(self, status: str, result: Any, error: Any) -> dict[str, Any]:
        return {
            "request_id": REQUEST_ID,
            "name": "sky.status",
            "entrypoint": self.object,
            "request_body": self.object,
            "status": status,
            "return_value": json.dumps(result),
            "error": json.dumps(error),
            "pid": 13469,
            "created_at": 1795549670.6,
            "schedule_type": "short",
            "should_retry": False,
        }
