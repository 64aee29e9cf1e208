"""What a stack consists of: its programs, their addresses and what each may know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arena.acl import (
    ADMIN,
    ROLES,
    SERVERS,
    NodeServer,
    Server,
    node_rules,
    role_password,
    role_rules,
    role_user,
)
from arena.credentials import (
    gpu_key,
    head_key,
    node_secret,
    node_user,
    pass_key,
    trainer_key,
    with_login,
    without_login,
)
from arena.games.showdown.installed import VARIABLE as SHOWDOWN
from arena.parameters import parse_number
from launcher import programs
from launcher.addresses import LOOPBACK, Ports, redis_url, site_address
from launcher.brokers import KEPT, NOT_KEPT, SYNCED, server_command
from launcher.errors import SetupError
from launcher.programs import (
    GPU_VARIABLES,
    HEAD_VARIABLES,
    INFERENCE_VARIABLES,
    NODE_VARIABLES,
    ONE_THREAD,
    TRAINER_VARIABLES,
    Program,
)

URL_VARIABLES: dict[Server, str] = {
    "broker": "REDIS_URL",
    "fast": "FAST_REDIS_URL",
    "stream": "STREAM_REDIS_URL",
}
ADMIN_VARIABLES: dict[Server, str] = {
    "broker": "EVALSITE_BROKER_ADMIN_URL",
    "fast": "EVALSITE_FAST_ADMIN_URL",
    "stream": "EVALSITE_STREAM_ADMIN_URL",
}
STREAM_MB = 256
MAX_STREAM_MB = 1_000_000
FLOWER_USER = "evalsite"
MAX_SHARDS = 64


@dataclass(frozen=True)
class Plan:
    """A stack in one data folder; `settings` are the caller's variables for the server programs."""

    var: Path
    ports: Ports
    host: str = LOOPBACK
    # Where our servers listen besides loopback, for nodes and trainers on other machines.
    bind: str = LOOPBACK
    nodes: int = 1
    slots: int = 1
    gpus: int = 0
    recorders: int = 1
    web: bool = True
    flower: bool = True
    head: bool = False
    experience: bool = False
    trainers: int = 0  # any of them needs experience
    flower_host: str = "127.0.0.1"  # its /metrics and /healthcheck ask for no login
    settings: Mapping[str, str] = field(default_factory=dict)
    # Servers that are given and let us make our users.
    with_users: frozenset[Server] = frozenset()

    @property
    def node_names(self) -> list[str]:
        """Return the names of the nodes that run here."""
        return [programs.node_name(number) for number in range(1, self.nodes + 1)]

    @property
    def has_experience(self) -> bool:
        """Return whether players may upload experience: it takes a stream and a sink."""
        return self.experience or self.trainers > 0

    @property
    def servers(self) -> list[Server]:
        """Return which servers the stack uses, its own and those that are given."""
        return [name for name in SERVERS if name != "stream" or self.has_experience]

    @property
    def own_servers(self) -> list[Server]:
        """Return which of its servers run here; the others are given by their address."""
        return [name for name in self.servers if not self.settings.get(URL_VARIABLES[name])]

    @property
    def listening(self) -> list[str]:
        """Return the names of the ports that this stack opens."""
        optional = {"web": self.web, "flower": self.flower, "head": self.head}
        return [*self.own_servers, *(name for name, is_wanted in optional.items() if is_wanted)]

    def has_users(self, server: Server) -> bool:
        """Return whether each program and node logs in to this server as a user of its own."""
        return server in self.own_servers or server in self.with_users & {*self.servers}

    def admin_url(self, server: Server, secrets: Mapping[str, str]) -> str:
        """Return the address by which users are made and a server is looked at."""
        if server in self.own_servers:
            return self.role_url(server, ADMIN, secrets)
        return self._plain_url(server)

    def role_url(self, server: Server, role: str, secrets: Mapping[str, str]) -> str:
        """Return the address of a server for one program; empty where it has none."""
        url = self._plain_url(server)
        if not self.has_users(server):
            return url
        if role != ADMIN and ROLES[role].rights_at(server) is None:
            # Django's settings need both of the others, without a right to use them.
            return "" if server == "stream" else without_login(url)
        return with_login(url, role_user(role), role_password(self._key(secrets), server, role))

    def node_url(
        self, server: NodeServer, name: str, secrets: Mapping[str, str], *, generation: int
    ) -> str:
        """Return the address of a server for a play node, empty where it has none."""
        if not self.has_users(server):
            asks = self.settings.get("EVALSITE_INFERENCE_URL", "")
            return asks if server == "fast" else self._plain_url(server)
        password = node_secret(self._key(secrets), server, name, generation)
        return with_login(self._plain_url(server), node_user(name), password)

    def user_rules(
        self, server: Server, secrets: Mapping[str, str], *, generations: Mapping[str, int]
    ) -> dict[str, str]:
        """Return the rules of all users of a server: programs, and the nodes of `generations`."""
        key = self._key(secrets)
        nodes = node_rules(key, server, generations, n_shards=self._shards)
        return role_rules(key, server) | nodes

    def _key(self, secrets: Mapping[str, str]) -> str:
        return self.settings.get("EVALSITE_SECRET_KEY") or secrets["EVALSITE_SECRET_KEY"]

    def _plain_url(self, server: Server) -> str:
        if server not in self.servers:
            return ""
        own = redis_url(getattr(self.ports, server), self.bind)
        return self.settings.get(URL_VARIABLES[server]) or own

    @property
    def site_url(self) -> str:
        """Return where nodes fetch checkpoints and put trajectories, empty without a web server."""
        return self.settings.get("EVALSITE_SITE_URL") or (self._site if self.web else "")

    @property
    def _site(self) -> str:
        return site_address(self.host, self.ports.web)

    def addresses(self) -> dict[str, str]:
        """Return what a browser can open, by name."""
        site = self._site
        pages = {"Board": f"{site}/", "Admin": f"{site}/admin/", "API": f"{site}/api/docs/"}
        monitor = {"Flower": f"http://127.0.0.1:{self.ports.flower}/"}
        dashboard = {"Head": f"{site_address(self.host, self.ports.head)}/dashboard"}
        return {
            **(pages if self.web else {}),
            **(monitor if self.flower else {}),
            **(dashboard if self.head else {}),
        }

    def shared_variables(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return what settings.py and a second terminal must know of this stack."""
        urls = self._role_urls("commands", secrets)
        plain = [name for name in self.servers if not self.has_users(name)]
        shape = {
            "EVALSITE_UNENFORCED": ",".join(plain),
            "EVALSITE_HOST": self.host,
            "EVALSITE_NODES": str(self.nodes),
            "EVALSITE_SLOTS": str(self.slots),
            "EVALSITE_GPUS": str(self.gpus),
            "EVALSITE_RECORDERS": str(self.recorders),
            "EVALSITE_HEAD": str(int(self.head)),
            "EVALSITE_EXPERIENCE": str(int(self.has_experience)),
            "EVALSITE_TRAINERS": str(self.trainers),
        }
        return {**self._tools, **self.settings, **self.ports.environment(), **urls, **shape}

    def programs(
        self, secrets: Mapping[str, str], *, generations: Mapping[str, int]
    ) -> list[Program]:
        """Return the programs in the order of starting; write the options of the servers.

        generations: those of the nodes' secrets, by their names.
        """
        servers = [
            self._make_server(name, self.user_rules(name, secrets, generations=generations))
            for name in self.own_servers
        ]
        return servers + self.task_programs(secrets, generations=generations)

    def _make_server(self, name: Server, rules: Mapping[str, str]) -> Program:
        options = {"broker": KEPT, "fast": NOT_KEPT, "stream": (*SYNCED, self._stream_memory)}
        command = server_command(
            self.var / name,
            port=getattr(self.ports, name),
            options=options[name],
            hosts=dict.fromkeys((LOOPBACK, self.bind)),
            rules=rules,
        )
        # The fast store keeps nothing, so it has no file that may be damaged.
        if name != "fast":
            log = str(self.var / "log" / f"{name}.log")
            salvage = [programs.PYTHON, "-m", "launcher.salvage", str(self.var / name), log]
            command = [*salvage, *command]
        return Program(name, tuple(command))

    def task_programs(
        self, secrets: Mapping[str, str], *, generations: Mapping[str, int]
    ) -> list[Program]:
        """Return the programs that need the servers and the database, in the order of starting."""
        server = {**self._tools, **ONE_THREAD, "EVALSITE_VAR": str(self.var)}
        # A Celery process works on one task after the other: it keeps its database connection.
        task = {**server, "EVALSITE_CONN_MAX_AGE": "600"}
        chosen = [
            *(
                programs.recorder(shard, task | self._role_urls("recorder", secrets))
                for shard in range(self.recorders)
            ),
            programs.control(
                task | self._role_urls("control", secrets) | self._admin_urls(secrets),
                takes_training=self.has_experience,
            ),
            programs.beat(task | self._role_urls("beat", secrets)),
        ]
        if self.web:
            own = server | self._role_urls("web", secrets)
            chosen.append(programs.web(self.host, self.ports.web, environment=own))
        if self.has_experience:
            chosen.append(programs.sink(task | self._role_urls("sink", secrets)))
        chosen += [self._make_gpu_worker(number, secrets) for number in range(1, self.gpus + 1)]
        chosen += [self._make_trainer(number, secrets) for number in range(1, self.trainers + 1)]
        chosen += [
            self._make_node(number, name, secrets, generations.get(name, 1))
            for number, name in enumerate(self.node_names, 1)
        ]
        if self.head:
            chosen.append(self._make_head(secrets))
        if self.flower:
            chosen.append(self._make_flower(secrets))
        return chosen

    def _role_urls(self, role: str, secrets: Mapping[str, str]) -> dict[str, str]:
        # Also what is empty: Django would else take the address of `commands` from stack.env.
        return {URL_VARIABLES[name]: self.role_url(name, role, secrets) for name in SERVERS}

    def _own_urls(self, role: str, secrets: Mapping[str, str]) -> dict[str, str]:
        """Return the addresses of the servers where a program without Django has a user."""
        return {
            URL_VARIABLES[name]: self.role_url(name, role, secrets)
            for name in self.servers
            if ROLES[role].rights_at(name) is not None
        }

    def _admin_urls(self, secrets: Mapping[str, str]) -> dict[str, str]:
        return {
            ADMIN_VARIABLES[name]: self.admin_url(name, secrets) if self.has_users(name) else ""
            for name in SERVERS
        }

    def _make_node(
        self, number: int, name: str, secrets: Mapping[str, str], generation: int
    ) -> Program:
        # Only what it needs: a node gets neither the database nor the secrets of the others.
        own = self._tools | self._pick_settings(*NODE_VARIABLES, *INFERENCE_VARIABLES)
        own |= self._files | ONE_THREAD
        own["REDIS_URL"] = self.node_url("broker", name, secrets, generation=generation)
        asks = self.node_url("fast", name, secrets, generation=generation)
        own |= {"EVALSITE_INFERENCE_URL": asks} if asks else {}
        own["EVALSITE_NODE_KEY"] = node_secret(self._key(secrets), "reports", name, generation)
        return programs.play_node(number, slots=self.slots, environment=own)

    def _make_gpu_worker(self, number: int, secrets: Mapping[str, str]) -> Program:
        own = self._pick_settings(*GPU_VARIABLES) | self._files | ONE_THREAD
        own |= self._own_urls("gpu", secrets)
        own["EVALSITE_NODE_KEY"] = gpu_key(self._key(secrets))
        return programs.gpu_worker(number, shards=self._shards, environment=own)

    def _make_trainer(self, number: int, secrets: Mapping[str, str]) -> Program:
        own = self._pick_settings(*TRAINER_VARIABLES) | self._files | ONE_THREAD
        own |= self._own_urls("trainer", secrets)
        own["EVALSITE_NODE_KEY"] = trainer_key(self._key(secrets))
        return programs.trainer(number, environment=own)

    def _make_head(self, secrets: Mapping[str, str]) -> Program:
        own = self._pick_settings(*HEAD_VARIABLES) | self._files | ONE_THREAD
        own |= self._own_urls("head", secrets)
        own["EVALSITE_NODE_KEY"] = head_key(self._key(secrets))
        # Never the secret key itself: the head checks passes and can make nothing else.
        own["EVALSITE_PASS_KEY"] = pass_key(self._key(secrets))
        return programs.head(self.host, self.ports.head, environment=own)

    def _make_flower(self, secrets: Mapping[str, str]) -> Program:
        login = f"{FLOWER_USER}:{secrets['EVALSITE_FLOWER_PASSWORD']}"
        own = {**ONE_THREAD, **self._own_urls("flower", secrets), "FLOWER_BASIC_AUTH": login}
        return programs.flower(self.flower_host, self.ports.flower, var=self.var, environment=own)

    @property
    def _tools(self) -> dict[str, str]:
        """Where the simulator of Showdown is, if it was installed into this data folder."""
        folder = self.var / "tools" / "showdown"
        return {SHOWDOWN: str(folder)} if folder.is_dir() else {}

    @property
    def _shards(self) -> int:
        return self._read_number("EVALSITE_SHARDS", 1, highest=MAX_SHARDS)

    @property
    def _stream_memory(self) -> str:
        n_mb = self._read_number("EVALSITE_STREAM_MB", STREAM_MB, highest=MAX_STREAM_MB)
        return f"maxmemory {n_mb}mb"

    def _read_number(self, name: str, default: int, *, highest: int) -> int:
        text = self.settings.get(name, str(default))
        if (number := parse_number(text, lowest=1, highest=highest)) is None:
            raise SetupError(f"{name} is {text!r}; a number from 1 to {highest}")
        return number

    @property
    def _files(self) -> dict[str, str]:
        """Return where a node finds checkpoints: the web server, and what it has fetched before."""
        cache = self.settings.get("EVALSITE_CACHE") or str(self.var / "cache")
        site = {"EVALSITE_SITE_URL": self.site_url} if self.site_url else {}
        return {"EVALSITE_CACHE": cache, **site}

    def _pick_settings(self, *names: str) -> dict[str, str]:
        return {name: self.settings[name] for name in names if name in self.settings}
