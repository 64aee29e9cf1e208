"""A language model as operator: one question each window, its answer a JSON object."""

import json
from typing import Any, Final

from pydantic import ValidationError

from llmserve_env.errors import UnavailableError
from llmserve_env.models import FIRST_ACTION, ServeAction, ServeObservation
from llmserve_env.real import API_FAILURES, describe_failure, make_client, read_key

DEFAULT_MODEL: Final = "gpt-4.1-mini"
TIMEOUT_S: Final = 30.0
RETRIES: Final = 3
QUESTION: Final = """\
You operate a server of a 70B language model on four A100. Each window lasts 2 seconds, an episode
has 90. Keep the time to the first token and between tokens within the limits, evict nothing, waste
no memory. Changing quantization_tier or prefill_decode_split stops the server for about a second.
Answer with one JSON object and these fields only:
batch_cap: 1..512; kv_budget_fraction: 0.1..1.0; speculation_depth: 0..8;
quantization_tier: "FP16", "INT8" or "INT4"; prefill_decode_split, priority_routing: true or false.
"""


class LanguageModelPolicy:
    """Asks the model for each window; n_invalid: answers that were no action."""

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: int = RETRIES,
    ) -> None:
        """Take the model; the key comes from the environment. Raises UnavailableError."""
        self._model = model
        self._client = make_client(read_key(), timeout_s=timeout_s, retries=retries)
        self._last = FIRST_ACTION
        self.n_invalid = 0

    def __call__(self, observation: ServeObservation) -> ServeAction:
        """Return the model's action, or the last valid one where its answer is none.

        Raises UnavailableError where the API fails, also when asked again.
        """
        action = parse_action(self._ask(observation))
        if action is None:
            self.n_invalid += 1
            return self._last
        self._last = action
        return action

    def _ask(self, observation: ServeObservation) -> str:
        seen = observation.model_dump(exclude={"metadata", "done", "reward"})
        running = self._last.model_dump(exclude={"metadata"})
        question = json.dumps({"observation": seen, "running_with": running})
        try:
            completion = self._client.chat.completions.create(
                model=self._model,
                temperature=0,
                response_format={"type": "json_object"},
                messages=[
                    {"role": "system", "content": QUESTION},
                    {"role": "user", "content": question},
                ],
            )
        except API_FAILURES as error:
            # Without `from`: a traceback would hold the message, and that a part of the key.
            failure = describe_failure(error)
            raise UnavailableError(f"the model {self._model} did not answer: {failure}") from None
        return _read_content(completion)


def parse_action(text: str) -> ServeAction | None:
    """Return the action in a model's answer, None where there is no valid one."""
    try:
        fields = json.loads(text)
        return ServeAction(**fields) if isinstance(fields, dict) else None
    except (ValueError, TypeError, RecursionError, ValidationError):
        return None


def _read_content(completion: Any) -> str:
    """Return the answer's text; a server may leave out any part of it, or send another."""
    choices = getattr(completion, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    return getattr(getattr(first, "message", None), "content", None) or ""
