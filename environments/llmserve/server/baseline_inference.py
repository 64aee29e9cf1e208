"""`python -m server.baseline_inference`: the baselines' scores on the three tasks, as JSON."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import requests
from pydantic import ValidationError

# It comes with OpenEnv, whose client raises its errors where a server ends in the middle.
from websockets.exceptions import WebSocketException

from llmserve_env.errors import LLMServeError
from llmserve_env.llm_policy import DEFAULT_MODEL
from server.baselines import SEED, make_player, run_deterministic, run_language_model

FAILED: Final = 2


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m server.baseline_inference")
    parser.add_argument("--mode", choices=("deterministic", "openai"), default="deterministic")
    parser.add_argument("--runtime", choices=("in-process", "http"), default="in-process")
    parser.add_argument("--base-url", default="http://127.0.0.1:7860", metavar="URL")
    parser.add_argument("--model", default=DEFAULT_MODEL, metavar="M")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the JSON there as well")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Play as the options say."""
    player = make_player(options.base_url if options.runtime == "http" else None)
    if options.mode == "openai":
        scores = run_language_model(player, options.model, options.seed)
    else:
        scores = run_deterministic(player, options.seed)
    return {**scores, "runtime": options.runtime}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scores; 2 where they could not be had."""
    options = read_arguments(arguments)
    try:
        text = json.dumps(run(options), indent=2)
        if options.output:
            options.output.parent.mkdir(parents=True, exist_ok=True)
            options.output.write_text(f"{text}\n")
    except (
        LLMServeError,
        ValidationError,
        OSError,
        RuntimeError,
        requests.RequestException,
        WebSocketException,
    ) as error:
        print(f"baseline_inference: {error}", file=sys.stderr)
        return FAILED
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
