"""What docker-compose.yml reads: `.env` with every secret, and the users of both servers.

Only three secrets are random; the rest is derived from one of them, as on a machine of our own.
"""

import secrets
from pathlib import Path

from arena.acl import ADMIN, ROLES, SERVERS
from arena.credentials import gpu_key, head_key, node_secret, pass_key
from launcher.addresses import Ports
from launcher.brokers import user_lines
from launcher.folders import SECRETS, read_variables, write_private, write_variables
from launcher.plan import Plan

MADE_ONCE = (*SECRETS, "POSTGRES_PASSWORD")
USERS = Path("var") / "compose"
URLS = {"REDIS_URL": "redis://broker:6379/0", "FAST_REDIS_URL": "redis://fast:6379/0"}


def write_files(folder: Path, *, n_nodes: int) -> list[Path]:
    """Write `.env` and the users of both servers beside docker-compose.yml; return the files."""
    env = folder / ".env"
    before = read_variables(env)
    # Secrets that are there stay: the database knows its password already. What is derived from
    # them is written anew.
    made = {name: before.get(name) or secrets.token_hex(24) for name in MADE_ONCE}
    plan = Plan(
        var=Path("/var/lib/evalsite"),
        ports=Ports(),
        nodes=n_nodes,
        settings={**URLS, "EVALSITE_SECRET_KEY": made["EVALSITE_SECRET_KEY"]},
        with_users=frozenset(SERVERS),
    )
    write_variables(env, {**before, **made, **derived_variables(plan, made)})
    files = [env]
    (folder / USERS).mkdir(parents=True, exist_ok=True)
    for server in SERVERS:
        rules = plan.user_rules(server, made, generations=dict.fromkeys(plan.node_names, 1))
        file = folder / USERS / f"{server}.acl"
        write_private(file, "\n".join([*user_lines(rules), ""]))
        # It holds no password, only digests; the server's own user in its container reads it.
        file.chmod(0o644)
        files.append(file)
    return files


def derived_variables(plan: Plan, made: dict[str, str]) -> dict[str, str]:
    """Return the addresses of every program and node, by the names that the file uses."""
    variables = {}
    for server in SERVERS:
        for role in (ADMIN, *ROLES):
            if role == ADMIN or ROLES[role].rights_at(server) is not None:
                name = f"{server.upper()}_URL_{role.upper()}"
                variables[name] = plan.role_url(server, role, made)
    secret_key = made["EVALSITE_SECRET_KEY"]
    variables["GPU_KEY"] = gpu_key(secret_key)
    variables |= {"HEAD_KEY": head_key(secret_key), "PASS_KEY": pass_key(secret_key)}
    for name in plan.node_names:
        prefix = name.upper().replace("-", "_")
        for server in SERVERS:
            url = plan.node_url(server, name, made, generation=1)
            variables[f"{prefix}_{server.upper()}_URL"] = url
        variables[f"{prefix}_KEY"] = node_secret(secret_key, "reports", name, 1)
    return variables
