"""What has to hold before this folder is submitted as a Space: one line for each check.

    python scripts/pre_submission_check.py [--skip-docker] [--space-url U]
        [--run-openai-baseline [--baseline-runtime in-process|http] [--model M]]

Ends with 0 only if every check that was not skipped has passed.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import requests
import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from llmserve_env import LLMServeEnv  # noqa: E402 - this folder's, from wherever it is called
from llmserve_env.errors import LLMServeError  # noqa: E402
from llmserve_env.llm_policy import DEFAULT_MODEL  # noqa: E402
from llmserve_env.simulator.workload import TASKS  # noqa: E402

START_S, CALL_S, BUILD_S = 60.0, 30.0, 1_800.0
ENGINES: Final = ("docker", "podman")
IMAGE: Final = "llmserve-env-check"
PORT: Final = 7860
MANIFEST: Final = {"name": "llmserve_env", "app": "server.app:app", "port": PORT}
GET_ROUTES: Final = (
    *("/health", "/metadata", "/schema", "/state", "/tasks", "/baseline", "/web", "/demo"),
)
SESSION: Final = {"X-Session-Id": "pre-submission-check"}


class CheckError(Exception):
    """A check that has not passed; the message says what to do."""


def check_manifest(root: Path) -> None:
    """Require that the manifest names this app, and has the block that openenv 0.10 reads."""
    manifest = yaml.safe_load(_read(root / "openenv.yaml"))
    for key, value in MANIFEST.items():
        if manifest.get(key) != value:
            raise CheckError(f"openenv.yaml: {key} must be {value!r}: {manifest.get(key)!r}")
    if "validation" not in manifest:
        raise CheckError("openenv.yaml: the block validation is missing")


def check_readme(root: Path) -> None:
    """Require that the README begins with what makes a Space of it."""
    _, _, rest = _read(root / "README.md").partition("---\n")
    front = yaml.safe_load(rest.partition("\n---\n")[0]) or {}
    if front.get("sdk") != "docker" or front.get("app_port") != PORT:
        raise CheckError(f"README.md: its front matter must have sdk docker and app_port {PORT}")
    if "openenv" not in front.get("tags", ()):
        raise CheckError("README.md: the tag openenv is missing in its front matter")


def check_dockerfiles(root: Path) -> None:
    """Require that the Dockerfile serves the app, and that of server/ is the same."""
    content = _read(root / "Dockerfile")
    if content != _read(root / "server" / "Dockerfile"):
        raise CheckError("server/Dockerfile: differs from Dockerfile, copy that one")
    if "server.app:app" not in content:
        raise CheckError("Dockerfile: does not serve server.app:app")


def check_weights(root: Path) -> None:
    """Require weights for each task, whole and no pointers to somewhere else."""
    for task_id in TASKS:
        path = root / "weights" / f"{task_id}.safetensors"
        if not path.is_file():
            raise CheckError(f"weights/{path.name} is missing: python train.py --task {task_id}")
        content = path.read_bytes()
        n_header = int.from_bytes(content[:8], "little")
        try:
            header = json.loads(content[8 : 8 + n_header])
            last = max(one["data_offsets"][1] for name, one in header.items() if name[:2] != "__")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise CheckError(f"weights/{path.name} is no safetensors file") from None
        if last != len(content) - 8 - n_header:
            raise CheckError(f"weights/{path.name} is cut off: it has {len(content)} bytes")


def check_lock(root: Path) -> None:
    """Require that uv.lock is what pyproject.toml asks for."""
    _read(root / "uv.lock")
    _call([_find_program("uv"), "lock", "--check"], root, hint="uv lock")


def check_openenv(root: Path) -> None:
    """Call OpenEnv's own validation of the folder."""
    openenv = _find_program("openenv")
    told = subprocess.run([openenv, "validate", "--help"], capture_output=True, text=True)
    # Since 0.10 it would build an image, which is a check of its own here.
    further = ["--skip-build"] if "--skip-build" in told.stdout else []
    _call([openenv, "validate", ".", *further], root, hint="see above")


def check_routes(url: str) -> None:
    """Ask every route, and whether they keep an episode."""
    _ask("POST", f"{url}/reset", {"task_id": "static_workload", "seed": 7})
    answer = _ask("POST", f"{url}/step", {"action": {"batch_cap": 64}}).json()
    if answer["observation"]["step_index"] != 1:
        raise CheckError("POST /step: the session's episode was not kept")
    for route in GET_ROUTES:
        _ask("GET", f"{url}{route}")
    tasks = [task["task_id"] for task in _ask("GET", f"{url}/tasks").json()]
    if tasks != list(TASKS):
        raise CheckError(f"GET /tasks: must be {', '.join(TASKS)}: {', '.join(tasks)}")


def check_episode(url: str) -> None:
    """Play an episode over WebSocket; its grade by replay must be the server's score."""
    with LLMServeEnv.from_url(url) as env:
        observation, reward = env.reset(task_id="bursty_workload", seed=7), 0.0
        while not observation.done:
            observation, reward, _, _ = env.step({"quantization_tier": "INT8"})
            if not -0.65 <= reward <= 1.0:  # noqa: PLR2004 - the range that the manifest declares
                raise CheckError(f"reward {reward} of step {observation.step_index}: -0.65..1")
        grade, score = env.grade(), env.state().score
    if grade["score"] != score:
        raise CheckError(f"POST /grader: {grade['score']}, but the episode scored {score}")


def check_validate_url(url: str) -> None:
    """Call OpenEnv's own validation of a running server."""
    _call([_find_program("openenv"), "validate", "--url", url], ROOT, hint="see above")


def check_baseline(url: str, runtime: str, model: str) -> None:
    """Let a model play the tasks; needs OPENAI_API_KEY."""
    command = [sys.executable, "-m", "server.baseline_inference", "--mode", "openai"]
    _call([*command, "--runtime", runtime, "--base-url", url, "--model", model], ROOT, hint="")


def find_engine() -> str:
    """Return docker or podman, the first that answers: a docker without its daemon does not."""
    engines = [path for name in ENGINES if (path := shutil.which(name))]
    for engine in engines:
        if subprocess.run([engine, "info"], capture_output=True, check=False).returncode == 0:
            return engine
    how = "--skip-docker leaves this check out"
    if not engines:
        raise CheckError(f"neither {' nor '.join(ENGINES)} is here: {how}")
    names = " and ".join(Path(engine).name for engine in engines)
    raise CheckError(f"no answer to `info` of {names}: start its daemon; {how}")


def check_image(root: Path) -> None:
    """Build the image, run it and play an episode in it."""
    engine = find_engine()
    _call([engine, "build", "-t", IMAGE, "."], root, hint="see above", limit_s=BUILD_S)
    port = _find_free_port()
    run = [engine, "run", "--rm", "-d", "-p", f"127.0.0.1:{port}:{PORT}", IMAGE]
    container = _call(run, root, hint="see above").strip()
    try:
        _wait_for(f"http://127.0.0.1:{port}", lambda: None)
        check_episode(f"http://127.0.0.1:{port}")
    finally:
        subprocess.run([engine, "stop", container], check=False, capture_output=True)


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Run the server of this folder meanwhile; yield its address."""
    port = _find_free_port()
    command = [sys.executable, "-m", "uvicorn", "server.app:app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=root, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}", process.poll)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(CALL_S)


FAILURES: Final = (CheckError, LLMServeError, OSError, RuntimeError, ValueError)
"""What a check that has not passed raises; requests' errors are OSErrors."""


class Checks:
    """Runs checks one by one, prints a line for each and counts what failed."""

    def __init__(self) -> None:
        self.n_failed = 0

    def run(self, name: str, check: Callable[..., None], *arguments: Any) -> None:
        """Run one; what it cannot do is a failure of it."""
        try:
            check(*arguments)
        except FAILURES as error:
            self.n_failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
        else:
            print(f"ok    {name}", flush=True)

    def skip(self, name: str, why: str) -> None:
        """Say that one was left out."""
        print(f"skip  {name}: {why}", flush=True)


def check_folder(checks: Checks, root: Path) -> None:
    """Check what lies in the folder."""
    checks.run("manifest", check_manifest, root)
    checks.run("readme", check_readme, root)
    checks.run("dockerfiles", check_dockerfiles, root)
    checks.run("weights", check_weights, root)
    checks.run("lock", check_lock, root)
    checks.run("openenv validate", check_openenv, root)


def check_server(checks: Checks, url: str, where: str) -> None:
    """Check a running server."""
    checks.run(f"{where} routes", check_routes, url)
    checks.run(f"{where} episode", check_episode, url)
    checks.run(f"{where} openenv validate --url", check_validate_url, url)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the checks; 1 if any fails."""
    options = read_arguments(arguments)
    checks = Checks()
    check_folder(checks, root)
    runtime, model = options.baseline_runtime, options.model
    try:
        with serve(root) as url:
            check_server(checks, url, "server")
            if options.run_openai_baseline:
                checks.run("openai baseline", check_baseline, url, runtime, model)
            else:
                checks.skip("openai baseline", "--run-openai-baseline asks for it")
    except CheckError as error:
        checks.n_failed += 1
        print(f"FAIL  server: {error}")
    if options.skip_docker:
        checks.skip("image", "--skip-docker")
    else:
        checks.run("image", check_image, root)
    if options.space_url:
        check_server(checks, options.space_url.rstrip("/"), "space")
    else:
        checks.skip("space", "--space-url names it")
    print(f"{checks.n_failed} checks failed" if checks.n_failed else "all checks passed")
    return int(checks.n_failed > 0)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description="Check this folder before it is submitted.")
    parser.add_argument("--skip-docker", action="store_true", help="build no image")
    parser.add_argument("--space-url", metavar="U", help="check this running Space as well")
    parser.add_argument("--run-openai-baseline", action="store_true")
    parser.add_argument("--baseline-runtime", choices=("in-process", "http"), default="in-process")
    parser.add_argument("--model", default=DEFAULT_MODEL, metavar="M")
    return parser.parse_args(arguments)


def _read(path: Path) -> str:
    if not path.is_file():
        raise CheckError(f"{path.name} is missing")
    return path.read_text()


def _ask(method: str, url: str, body: Any = None) -> requests.Response:
    response = requests.request(method, url, json=body, headers=SESSION, timeout=CALL_S)
    if not response.ok:
        route = url.partition("://")[2].partition("/")[2]
        raise CheckError(f"{method} /{route}: {response.status_code} {response.text:.200}")
    return response


def _call(command: Sequence[str], root: Path, *, hint: str, limit_s: float = 600.0) -> str:
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False, timeout=limit_s
    )
    if done.returncode:
        output = (done.stdout + done.stderr).strip()
        raise CheckError(
            f"{Path(command[0]).name} {' '.join(command[1:])} ended with {done.returncode}"
            f"{f' ({hint})' if hint else ''}: {output[-500:]}"
        )
    return done.stdout


def _find_program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    program = str(beside) if beside.is_file() else shutil.which(name)
    if program is None:
        raise CheckError(f"{name} is not installed: pip install {name}")
    return program


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(url: str, read_status: Callable[[], int | None]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if (status := read_status()) is not None:
            raise CheckError(f"it ended with {status} while it started")
        try:
            if requests.get(f"{url}/health", timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.2)
    raise CheckError(f"{url} did not answer within {START_S:g} s")


if __name__ == "__main__":
    sys.exit(main())
