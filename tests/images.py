"""Base images made here, for a machine that reaches no image registry: stand-ins for Docker's own.

Debian's Python takes the place of python:3.12-slim, the server of our wheel that of Valkey,
Debian's PostgreSQL that of postgres:18-alpine, Debian's Prometheus 2 that of Prometheus 3: enough
to run docker-compose.yml as it is. Grafana is a stub that reads its mounts and asks its source.
Debian's Python 3.11 is also that of python:3.11-slim, on which LLMServe's image is built.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from launcher.brokers import find_server

PYTHON_IMAGE = "docker.io/library/python:3.12-slim"
VALKEY_IMAGE = "docker.io/valkey/valkey:9-alpine"
POSTGRES_IMAGE = "docker.io/library/postgres:18-alpine"
PROMETHEUS_IMAGE = "docker.io/prom/prometheus:v3.5.0"
GRAFANA_IMAGE = "docker.io/grafana/grafana:12.1.0"
LLMSERVE_IMAGE = "docker.io/library/python:3.11-slim"
PYTHON_PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
PACKAGES = f"{PYTHON_PACKAGES},postgresql,prometheus"
BINARIES = "ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
# uv goes by it; pip has its own setting.
CERTIFICATES = "ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"
# A container may not raise limits above those of a machine that is one itself.
CONTAINERS_CONF = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
volumes = {volumes}
[engine]
runtime = "runc"
"""
VALKEY_FILE = f"FROM {PYTHON_IMAGE}\nCOPY valkey-server /usr/local/bin/\nWORKDIR /data\n"
POSTGRES_FILE = f'FROM {PYTHON_IMAGE}\nCOPY start /usr/local/bin/start\nCMD ["start"]\n'
# As the real image: makes the database of POSTGRES_* the first time, and listens.
POSTGRES_START = """#!/bin/bash
set -e
data=/var/lib/postgresql/data; bin=$(ls -d /usr/lib/postgresql/*/bin)
if [ ! -s $data/PG_VERSION ]; then
  mkdir -p $data; chown -R postgres /var/lib/postgresql; chmod 700 $data
  install -m 600 -o postgres <(echo "$POSTGRES_PASSWORD") /tmp/password
  su postgres -c "$bin/initdb -D $data -U $POSTGRES_USER --pwfile=/tmp/password -A scram-sha-256"
  echo "host all all all scram-sha-256" >> $data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | su postgres -c "$bin/postgres --single -D $data postgres"
fi
exec su postgres -c "exec $bin/postgres -D $data -c listen_addresses='*'"
"""
PROMETHEUS_FILE = f"""FROM {PYTHON_IMAGE}
WORKDIR /prometheus
ENTRYPOINT ["prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
"""
GRAFANA_FILE = f'FROM {PYTHON_IMAGE}\nCOPY stub.py /stub.py\nCMD ["python3", "/stub.py"]\n'
# Answers with the titles of the dashboards that it was given, and with what their source answers.
GRAFANA_STUB = """
import http.server, json, pathlib, re, urllib.request

PROVIDED = pathlib.Path("/etc/grafana/provisioning")

def find(kind, key):
    texts = [file.read_text() for file in (PROVIDED / kind).glob("*.yml")]
    return re.findall(rf"^ *{key}: (.*)$", "".join(texts), re.MULTILINE)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        folders = [pathlib.Path(path) for path in find("dashboards", "path")]
        boards = [json.loads(file.read_text()) for path in folders for file in path.glob("*.json")]
        (source,) = find("datasources", "url")
        with urllib.request.urlopen(source + self.path, timeout=5) as reply:
            answer = {"titles": [board["title"] for board in boards], "of": json.load(reply)}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

http.server.ThreadingHTTPServer(("", 3000), Handler).serve_forever()
"""


def run(*command: str, cwd: Path | None = None, limit_s: float = 900) -> str:
    """Run a command; return what it printed, raise with it when it fails."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=limit_s
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def pip_settings() -> dict[str, str]:
    """Return the settings by which pip here reaches its index; the environment's come last."""
    lines = run(sys.executable, "-m", "pip", "config", "list").splitlines()
    pairs = [line.partition("=") for line in lines]
    pairs.sort(key=lambda pair: pair[0].startswith(":env:"))
    return {name.rsplit(".", 1)[1]: value.strip("'\"") for name, _, value in pairs}


def pip_volumes() -> list[str]:
    """Return the files and folders that the settings of pip name, for a build to see."""
    texts = re.findall(r"(?:^|\s|file://)(/[^\s]+)", " ".join(pip_settings().values()))
    paths = [Path(text) for text in texts if Path(text).exists()]
    # The files of an index lie beside its pages.
    folders = [path.parent if path.name == "simple" else path for path in paths]
    return [f"{path}:{path}:ro" for path in dict.fromkeys(folders)]


def write_containers_conf(folder: Path, volumes: Sequence[str] = ()) -> Path:
    """Write the settings of podman here; volumes: of every build and container. Return the file."""
    path = folder / "containers.conf"
    path.write_text(CONTAINERS_CONF.format(volumes=json.dumps(list(volumes))))
    return path


def ensure_images(folder: Path) -> None:
    """Make or fetch the base images of docker-compose.yml that are not there."""
    images = (PYTHON_IMAGE, VALKEY_IMAGE, POSTGRES_IMAGE, PROMETHEUS_IMAGE, GRAFANA_IMAGE)
    missing = [image for image in images if _is_missing(image)]
    if PYTHON_IMAGE in missing:
        _make_python(PYTHON_IMAGE, PACKAGES, folder / "rootfs")
    if VALKEY_IMAGE in missing:
        shutil.copy(find_server(), folder / "valkey-server")
        _build(VALKEY_IMAGE, VALKEY_FILE, folder, ["valkey-server"])
    if POSTGRES_IMAGE in missing:
        (folder / "start").write_text(POSTGRES_START)
        (folder / "start").chmod(0o755)
        _build(POSTGRES_IMAGE, POSTGRES_FILE, folder, ["start"])
    if PROMETHEUS_IMAGE in missing:
        _build(PROMETHEUS_IMAGE, PROMETHEUS_FILE, folder, [])
    if GRAFANA_IMAGE in missing:
        (folder / "stub.py").write_text(GRAFANA_STUB)
        _build(GRAFANA_IMAGE, GRAFANA_FILE, folder, ["stub.py"])


def ensure_llmserve_base(folder: Path) -> None:
    """Make or fetch the base image of LLMServe's if it is not there."""
    if _is_missing(LLMSERVE_IMAGE):
        _make_python(LLMSERVE_IMAGE, PYTHON_PACKAGES, folder / "rootfs")


def _is_missing(image: str) -> bool:
    """Say whether an image neither is here nor can be fetched."""
    commands = (["podman", "image", "exists", image], ["podman", "pull", "-q", image])
    return all(subprocess.run(command, check=False).returncode for command in commands)


def _make_python(image: str, packages: str, root: Path) -> None:
    run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(root))
    (root / "usr/bin/python").symlink_to("python3")
    for mark in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        mark.unlink()  # the real image lets pip install for all
    lines = [f"{name} = {value}" for name, value in pip_settings().items()]
    (root / "etc/pip.conf").write_text("\n".join(["[global]", *lines, ""]))
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as packed:
        changes = ("--change", BINARIES, "--change", CERTIFICATES)
        command = ["podman", "import", "-q", *changes, "-", image]
        subprocess.run(command, stdin=packed.stdout, check=True)
    shutil.rmtree(root)


def _build(image: str, text: str, folder: Path, files: Sequence[str]) -> None:
    context = folder / image.replace("/", "-").replace(":", "-")
    context.mkdir()
    for name in files:
        shutil.move(folder / name, context)
    (context / "Dockerfile").write_text(text)
    run("podman", "build", "-q", "-t", image, str(context))
