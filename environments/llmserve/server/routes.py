"""The HTTP routes that keep an episode between two calls; a header names its session."""

from threading import Lock
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import RedirectResponse

from llmserve_env.episode import describe_tasks, grade
from llmserve_env.errors import UnavailableError
from llmserve_env.llm_policy import DEFAULT_MODEL
from llmserve_env.models import ServeAction, ServeObservation, ServeState
from llmserve_env.simulator.settings import Settings
from server.answers import write_observation
from server.baselines import grade_session, make_player, run_deterministic, run_language_model
from server.bodies import EpisodeLog, GraderBody, ResetBody, StepBody
from server.sessions import Session, SessionStore

SHADOWED: Final = frozenset({"/reset", "/step", "/state", "/schema"})
"""Stock routes in whose place ours stand: theirs begin a new episode at each call."""
UNUSED: Final = ("/web/reset", "/web/step", "/web/state", "/{env_name}/", "/list_environments")
"""Stock routes that share one episode among all, and those of a task API that we do not have."""

router: Final = APIRouter()
_is_asking: Final = Lock()
"""Held while a model plays the baseline: each such call costs the owner of the key money."""

SessionName = Annotated[
    str, Header(alias="X-Session-Id", min_length=1, max_length=128, pattern=r"^[!-~]+$")
]


def get_store(request: Request) -> SessionStore:
    """Return the sessions of the app that is asked."""
    store: SessionStore = request.app.state.sessions
    return store


Store = Annotated[SessionStore, Depends(get_store)]


def find_session(store: Store, name: SessionName = "default") -> Session:
    """Return the session that the header names. Raises EpisodeOrderError before its reset."""
    return store.find(name)


Begun = Annotated[Session, Depends(find_session)]


@router.post("/reset", tags=["Environment Control"])
def reset(
    store: Store, body: ResetBody | None = None, name: SessionName = "default"
) -> dict[str, Any]:
    """Begin an episode in the session."""
    session = store.find_or_make(name)
    with session.lock:
        observation = session.environment.reset(**(body or ResetBody()).model_dump())
    store.keep(name, session)
    return write_observation(observation)


@router.post("/step", tags=["Environment Control"])
def step(body: StepBody, session: Begun) -> dict[str, Any]:
    """Run the next window of the session's episode."""
    with session.lock:
        return write_observation(session.environment.step(body.action))


@router.get("/state", tags=["State Management"])
def state(session: Begun) -> ServeState:
    """Return how far the session's episode is."""
    with session.lock:
        return session.environment.state


@router.get("/schema", tags=["Schema"])
def schema() -> dict[str, Any]:
    """Return the JSON schemas of action, observation and state."""
    models = {"action": ServeAction, "observation": ServeObservation, "state": ServeState}
    return {name: model.model_json_schema() for name, model in models.items()}


@router.get("/tasks", tags=["Environment Info"])
def tasks() -> list[dict[str, Any]]:
    """Return the tasks."""
    return describe_tasks(ServeAction.model_json_schema())


@router.post("/grader", tags=["Environment Info"])
def grader(
    store: Store, body: GraderBody | None = None, name: SessionName = "default"
) -> dict[str, Any]:
    """Grade the session's episode, or a log by replaying its task, seed and actions."""
    if body and body.episode_log:
        return grade_log(body.episode_log)
    session = store.find(name)
    with session.lock:
        return grade_session(session.environment)


@router.get("/baseline", tags=["Environment Info"])
def baseline(
    use_openai: bool = False, model: Annotated[str, Query(max_length=100)] = DEFAULT_MODEL
) -> dict[str, Any]:
    """Play the tasks with a baseline; with use_openai it takes minutes, and the key's money."""
    if not use_openai:
        return run_deterministic(make_player(None))
    if not _is_asking.acquire(blocking=False):
        raise UnavailableError("the model is being asked already: try again in some minutes")
    try:
        return run_language_model(make_player(None), model)
    finally:
        _is_asking.release()


@router.get("/demo", include_in_schema=False)
def demo() -> RedirectResponse:
    """Lead to the page."""
    return RedirectResponse("/web", 307)


def grade_log(log: EpisodeLog) -> dict[str, Any]:
    """Return the score of a log. Raises InvalidFieldError for an unknown task."""
    score = grade(log.task_id, log.seed, [Settings(*action) for action in log.actions])
    about = {"task_id": log.task_id, "seed": log.seed, "mode": "sim", "comparable": True}
    return {"score": score, **about}
