"""What docker-compose.yml and deploy/kubernetes read: every secret, and the users of all servers.

Few secrets are random; the rest is derived from one of them, as on a machine of our own.
"""

import secrets
from pathlib import Path

from arena.acl import ADMIN, ROLES, SERVERS
from arena.credentials import gpu_key, head_key, node_secret, pass_key, trainer_key
from arena.passes import make_pass
from arena.queues import TRAINED_QUEUE
from launcher.addresses import Ports
from launcher.brokers import user_lines
from launcher.folders import SECRETS, read_variables, write_private, write_variables
from launcher.plan import URL_VARIABLES, Plan

MADE_ONCE = (*SECRETS, "EVALSITE_METRICS_TOKEN", "GRAFANA_PASSWORD", "POSTGRES_PASSWORD")
USERS = Path("var") / "compose"
# What a game server shows to the head; each call of the command makes a new one.
PASS_S = 365 * 86_400
ANY_SERVER = "serve:"
NODES = "nodes"
NODE_PARTS = {
    "BROKER_URL": "REDIS_URL",
    "FAST_URL": "EVALSITE_INFERENCE_URL",
    "KEY": "EVALSITE_NODE_KEY",
}
URLS = {URL_VARIABLES[name]: f"redis://{name}:6379/0" for name in SERVERS}
PROFILE = "experience"


def write_files(folder: Path, *, n_nodes: int, experience: bool = False, now: float) -> list[Path]:
    """Write `.env` and the users of all servers beside docker-compose.yml; return the files.

    experience: whether stream, sink and trainer start with the rest, and the others know of them.
    now: seconds since 1970.
    """
    env = folder / ".env"
    before = read_variables(env)
    # Secrets that are there stay: the database knows its password already. What is derived from
    # them is written anew.
    secret_values = {name: before.get(name) or secrets.token_hex(24) for name in MADE_ONCE}
    plan = Plan(
        var=Path("/var/lib/evalsite"),
        ports=Ports(),
        nodes=n_nodes,
        experience=experience,
        settings={**URLS, "EVALSITE_SECRET_KEY": secret_values["EVALSITE_SECRET_KEY"]},
        with_users=frozenset(SERVERS),
    )
    write_variables(
        env, {**before, **secret_values, **derived_variables(plan, secret_values, now=now)}
    )
    own = folder / USERS
    own.mkdir(parents=True, exist_ok=True)
    # The users of containers read what lies inside, others of this machine must not come so far.
    own.chmod(0o700)
    texts = {"metrics-token": secret_values["EVALSITE_METRICS_TOKEN"]}
    for server in SERVERS:
        rules = plan.user_rules(
            server, secret_values, generations=dict.fromkeys(plan.node_names, 1)
        )
        texts[f"{server}.acl"] = "\n".join([*user_lines(rules), ""])
    for name, text in texts.items():
        write_private(own / name, text)
        (own / name).chmod(0o644)
    return [
        env,
        *(own / name for name in texts),
        *write_node_files(own / NODES, plan, secret_values),
    ]


def write_node_files(folder: Path, plan: Plan, secret_values: dict[str, str]) -> list[Path]:
    """Write what each node reads of its own, a file by its name; Kubernetes mounts them so."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    files = []
    for name in plan.node_names:
        files.append(folder / name)
        write_variables(files[-1], node_variables(plan, name, secret_values))
    return files


def node_variables(plan: Plan, name: str, secret_values: dict[str, str]) -> dict[str, str]:
    """Return the secrets of a node, by the names under which it reads them."""
    return {
        "REDIS_URL": plan.node_url("broker", name, secret_values, generation=1),
        "EVALSITE_INFERENCE_URL": plan.node_url("fast", name, secret_values, generation=1),
        "EVALSITE_NODE_KEY": node_secret(secret_values["EVALSITE_SECRET_KEY"], "reports", name, 1),
    }


def derived_variables(plan: Plan, secret_values: dict[str, str], *, now: float) -> dict[str, str]:
    """Return the addresses of every program and node, by the names that the file uses."""
    variables = {}
    for server in SERVERS:
        for role in (ADMIN, *ROLES):
            if role == ADMIN or ROLES[role].rights_at(server) is not None:
                name = f"{server.upper()}_URL_{role.upper()}"
                variables[name] = plan.role_url(server, role, secret_values)
    # Docker reads the first itself; without it the services of this profile do not start.
    variables["COMPOSE_PROFILES"] = PROFILE if plan.has_experience else ""
    variables["CONTROL_QUEUES"] = "control" + f",{TRAINED_QUEUE}" * plan.has_experience
    secret_key = secret_values["EVALSITE_SECRET_KEY"]
    variables |= {"GPU_KEY": gpu_key(secret_key), "TRAINER_KEY": trainer_key(secret_key)}
    variables |= {"HEAD_KEY": head_key(secret_key), "PASS_KEY": pass_key(secret_key)}
    served_until = int(now) + PASS_S
    variables["SERVE_PASS"] = make_pass(pass_key(secret_key), ANY_SERVER, until=served_until)
    for name in plan.node_names:
        prefix = name.upper().replace("-", "_")
        own = node_variables(plan, name, secret_values)
        variables |= {f"{prefix}_{part}": own[variable] for part, variable in NODE_PARTS.items()}
    return variables
