"""What a stack consists of: its programs, their addresses and what each may know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arena.credentials import gpu_key, node_secret
from evalsite import programs
from evalsite.addresses import Ports, redis_url
from evalsite.brokers import INFERENCE_USER, inference_user, server_command
from evalsite.errors import SetupError
from evalsite.programs import (
    GPU_VARIABLES,
    INFERENCE_VARIABLES,
    NODE_VARIABLES,
    ONE_THREAD,
    Program,
)

SERVERS = ("broker", "fast")
URL_VARIABLES = {"broker": "REDIS_URL", "fast": "FAST_REDIS_URL"}
FLOWER_USER = "evalsite"
MAX_SHARDS = 64


@dataclass(frozen=True)
class Plan:
    """A stack in one data folder; `settings` are the caller's variables for the server programs."""

    var: Path
    ports: Ports
    host: str = "127.0.0.1"
    nodes: int = 1
    slots: int = 1
    gpus: int = 0
    web: bool = True
    flower: bool = True
    flower_host: str = "127.0.0.1"  # its /metrics and /healthcheck ask for no login
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def node_names(self) -> list[str]:
        """Return the names of the nodes that run here."""
        return [programs.node_name(number) for number in range(1, self.nodes + 1)]

    @property
    def own_servers(self) -> list[str]:
        """Return which of broker and fast run here; the others are given by their address."""
        return [name for name in SERVERS if not self.settings.get(URL_VARIABLES[name])]

    @property
    def listening(self) -> list[str]:
        """Return the names of the ports that this stack opens."""
        extras = [name for name, wanted in (("web", self.web), ("flower", self.flower)) if wanted]
        return self.own_servers + extras

    def server_url(self, name: str, secrets: Mapping[str, str]) -> str:
        """Return the address of the broker or the fast store."""
        own = redis_url(getattr(self.ports, name), secrets["EVALSITE_BROKER_PASSWORD"])
        return self.settings.get(URL_VARIABLES[name]) or own

    def inference_url(self, secrets: Mapping[str, str]) -> str:
        """Return the address by which players ask networks, empty when nobody gave one."""
        if "fast" not in self.own_servers:
            return self.settings.get("EVALSITE_INFERENCE_URL", "")
        password = secrets["EVALSITE_INFERENCE_PASSWORD"]
        return redis_url(self.ports.fast, password, user=INFERENCE_USER)

    @property
    def site_url(self) -> str:
        """Return where nodes fetch checkpoints and put trajectories, empty without a web server."""
        return self.settings.get("EVALSITE_SITE_URL") or (self._site if self.web else "")

    @property
    def _site(self) -> str:
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host
        return f"http://{host}:{self.ports.web}"

    def addresses(self) -> dict[str, str]:
        """Return what a browser can open, by name."""
        site = self._site
        pages = {"Board": f"{site}/", "Admin": f"{site}/admin/", "API": f"{site}/api/docs/"}
        monitor = {"Flower": f"http://127.0.0.1:{self.ports.flower}/"}
        return (pages if self.web else {}) | (monitor if self.flower else {})

    def shared_variables(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return what settings.py and a second terminal must know of this stack."""
        urls = {URL_VARIABLES[name]: self.server_url(name, secrets) for name in SERVERS}
        shape = {
            "EVALSITE_HOST": self.host,
            "EVALSITE_NODES": str(self.nodes),
            "EVALSITE_SLOTS": str(self.slots),
            "EVALSITE_GPUS": str(self.gpus),
        }
        return {**self.settings, **self.ports.environment(), **urls, **shape}

    def programs(
        self, secrets: Mapping[str, str], *, generations: Mapping[str, int]
    ) -> list[Program]:
        """Return the programs in the order of starting; write the options of the servers.

        generations: those of the nodes' secrets, by their names.
        """
        servers = [self._server(name, secrets) for name in self.own_servers]
        return servers + self.task_programs(secrets, generations=generations)

    def task_programs(
        self, secrets: Mapping[str, str], *, generations: Mapping[str, int]
    ) -> list[Program]:
        """Return the programs that need the servers and the database, in the order of starting."""
        server = {**ONE_THREAD, "EVALSITE_VAR": str(self.var)}
        # A Celery process works on one task after the other: it keeps its database connection.
        task = {**server, "EVALSITE_CONN_MAX_AGE": "600"}
        chosen = [programs.recorder(task), programs.control(task), programs.beat(task)]
        if self.web:
            chosen.append(programs.web(self.host, self.ports.web, environment=server))
        chosen += [self._gpu(number, secrets) for number in range(1, self.gpus + 1)]
        chosen += [
            self._node(number, name, secrets, generations.get(name, 1))
            for number, name in enumerate(self.node_names, 1)
        ]
        if self.flower:
            login = f"{FLOWER_USER}:{secrets['EVALSITE_FLOWER_PASSWORD']}"
            own = {**server, "FLOWER_BASIC_AUTH": login}
            chosen.append(
                programs.flower(self.flower_host, self.ports.flower, var=self.var, environment=own)
            )
        return chosen

    def _server(self, name: str, secrets: Mapping[str, str]) -> Program:
        command = server_command(
            self.var / name,
            port=getattr(self.ports, name),
            password=secrets["EVALSITE_BROKER_PASSWORD"],
            kept=name == "broker",
            users=()
            if name == "broker"
            else (inference_user(secrets["EVALSITE_INFERENCE_PASSWORD"], n_shards=self._shards),),
        )
        if name == "broker":
            log = str(self.var / "log" / f"{name}.log")
            salvage = (programs.PYTHON, "-m", "evalsite.salvage", str(self.var / name), log)
            return Program(name, (*salvage, *command))
        return Program(name, tuple(command))

    def _node(self, number: int, name: str, secrets: Mapping[str, str], generation: int) -> Program:
        known = self._known(*NODE_VARIABLES, *INFERENCE_VARIABLES) | self._files
        known |= ONE_THREAD | {"REDIS_URL": self.server_url("broker", secrets)}
        asks = self.inference_url(secrets)
        known |= {"EVALSITE_INFERENCE_URL": asks} if asks else {}
        key = self._secret_key(secrets)
        known["EVALSITE_NODE_KEY"] = node_secret(key, "reports", name, generation)
        return programs.play_node(number, slots=self.slots, environment=known)

    def _gpu(self, number: int, secrets: Mapping[str, str]) -> Program:
        urls = {URL_VARIABLES[name]: self.server_url(name, secrets) for name in SERVERS}
        known = self._known(*GPU_VARIABLES) | self._files | ONE_THREAD | urls
        known["EVALSITE_NODE_KEY"] = gpu_key(self._secret_key(secrets))
        return programs.gpu_worker(number, shards=self._shards, environment=known)

    def _secret_key(self, secrets: Mapping[str, str]) -> str:
        return self.settings.get("EVALSITE_SECRET_KEY") or secrets["EVALSITE_SECRET_KEY"]

    @property
    def _shards(self) -> int:
        text = self.settings.get("EVALSITE_SHARDS", "1")
        if not text.isdecimal() or not 1 <= int(text) <= MAX_SHARDS:
            raise SetupError(f"EVALSITE_SHARDS is {text!r}; a number from 1 to {MAX_SHARDS}")
        return int(text)

    @property
    def _files(self) -> dict[str, str]:
        """Return where a node finds checkpoints: the web server, and what it has fetched before."""
        cache = self.settings.get("EVALSITE_CACHE") or str(self.var / "cache")
        site = {"EVALSITE_SITE_URL": self.site_url} if self.site_url else {}
        return {"EVALSITE_CACHE": cache, **site}

    def _known(self, *names: str) -> dict[str, str]:
        return {name: self.settings[name] for name in names if name in self.settings}
