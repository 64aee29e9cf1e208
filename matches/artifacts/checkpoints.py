"""Add checkpoints: seal the file, store it under its hash, register its agent.

Nothing is stored of what is refused: all files of a run are sealed beside the storage before the
first of them is kept. What a network computes is checked later, on the gpu queue:
see checkpoint_checks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from arena import checkpoints as files
from arena.checkpoints import Seal
from arena.errors import ArenaError, CheckpointFileError
from arena.games import registry as games
from arena.games.base import GameSpec
from arena.parameters import Value
from arena.policies.spec import parse_policy
from matches.artifacts.agents import find_weights, read_version_here, save_agent, to_bad_input
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint
from matches.models.choices import Placement
from matches.models.validation import check_name, check_spelling
from matches.store import auditing, blobs
from matches.store.auditing import Actor
from matches.store.staging import staging_folder

POLICY = "network"
MAX_STEP = 2**63 - 1
_SHOWN = 12


@dataclass(frozen=True)
class New:
    """What a file is to be; what is empty follows from its seal or its check, or is not known."""

    name: str
    game: str = ""
    architecture: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    step: int | None = None
    parent: str = ""
    """SHA-256 of a checkpoint, or the name of an agent of the same game."""
    placement: str = ""
    expected_sha256: str = ""
    """Of the file as it was sent."""
    source_name: str = ""

    @property
    def agent_name(self) -> str:
        """The name of its agent: NAME, or NAME@STEP."""
        return self.name if self.step is None else f"{self.name}@{self.step}"


class SealedFile(NamedTuple):
    """A file that was sealed and not yet stored; `parent` is a hash."""

    new: New
    seal: Seal
    parent: str | None
    path: Path
    sha256: str
    n_bytes: int


def add_checkpoint(file: Path, new: New, *, actor: Actor | None = None, now: datetime) -> Agent:
    """Return the agent of a new checkpoint, whose check control will order.

    actor: who gets an audit row for it. Raises BadInputError naming the field that is refused;
    then nothing is stored.
    """
    return add_run([(file, new)], actor=actor, now=now)[0]


def add_run(
    uploads: Sequence[tuple[Path, New]], *, actor: Actor | None = None, now: datetime
) -> list[Agent]:
    """Return the agents of a run's checkpoints, each the child of the one before; all or nothing.

    Raises BadInputError naming the field and the file that are refused.
    """
    with staging_folder() as folder:
        sealed: list[SealedFile] = []
        for place, (file, new) in enumerate(uploads):
            parent = sealed[-1].sha256 if sealed else None
            sealed.append(_seal_file(file, new, folder / str(place), before=parent))
        # All files are looked at before the first is stored: a run is added whole or not at all.
        by_hash: dict[str, SealedFile] = {}
        for upload in sealed:
            same = by_hash.setdefault(upload.sha256, upload)
            if same is not upload:
                names = f"{same.new.source_name} and {upload.new.source_name}"
                raise BadInputError("file", f"{names} hold the same checkpoint {upload.sha256}")
            _check_new(upload)
        return _store_files(sealed, actor=actor, now=now)


def read_run_folder(folder: Path, new: New) -> list[tuple[Path, New]]:
    """Return the safetensors files of a folder as a run, by the steps that their names tell.

    Raises BadInputError: no file, a name without a step, or two of one step.
    """
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        advice = "it holds no *.safetensors; `./run checkpoints convert` makes them of .pt files"
        raise BadInputError("file", f"{folder}: {advice}")
    by_step: dict[int, Path] = {}
    for path in paths:
        step = files.read_step(path.name)
        if step is None:
            raise BadInputError("step", f"{path}: the name tells no step: name it step_1000 or so")
        if step in by_step:
            raise BadInputError("step", f"{by_step[step]} and {path} are both of step {step}")
        by_step[step] = path
    return [(path, replace(new, step=step)) for step, path in sorted(by_step.items())]


def _seal_file(file: Path, new: New, target: Path, *, before: str | None) -> SealedFile:
    """Check and seal one file; `before` is the hash of its parent in the same run."""
    new = replace(new, source_name=new.source_name or file.name)
    _check_fields(new)
    try:
        own_seal = files.inspect_file(file).seal
        expected = new.expected_sha256.strip().lower()
        if expected and (actual := files.hash_file(file)) != expected:
            raise BadInputError(
                "sha256",
                f"{new.source_name} has {actual}, not {expected:.64}: send the file again",
            )
        seal = _choose_seal(new, own_seal)
        new = replace(new, game=seal.game)
        _check_name(new)
        parent = before
        if parent is None and new.parent:
            parent = find_weights(new.parent, game=new.game, field="parent").sha256
        sha256 = files.write_sealed(file, target, seal)
    except CheckpointFileError as error:
        raise BadInputError("file", f"{new.source_name}: {error}") from error
    return SealedFile(new, seal, parent, target, sha256, target.stat().st_size)


def _check_fields(new: New) -> None:
    if new.placement and new.placement not in Placement.values:
        choices = ", ".join(Placement.values)
        raise BadInputError("placement", f"{new.placement!r}: choose {choices}, or leave it empty")
    if not isinstance(new.parameters, Mapping):
        raise BadInputError(
            "parameters", f"{new.parameters!r:.80}: must be an object of names and values"
        )
    try:
        check_name(new.name)
    except ValidationError as error:
        raise to_bad_input(error) from error
    if new.step is not None and not 0 <= new.step <= MAX_STEP:
        raise BadInputError("step", f"{new.step}: must be 0..{MAX_STEP}")
    if new.game:
        _find_game_spec(new.game)


def _choose_seal(new: New, own: Seal | None) -> Seal:
    """Return the seal that the file gets: what was given, else what its own seal says."""
    game = new.game or (own.game if own else "")
    if not game:
        raise BadInputError("game", f"{new.source_name} is not sealed: say which game it plays")
    spec = _find_game_spec(game)
    architecture = new.architecture or (own.architecture if own else "")
    if not architecture:
        advice = "name its architecture, such as mlp"
        raise BadInputError("architecture", f"{new.source_name} is not sealed: {advice}")
    parameters = dict(new.parameters) or (own.parameters if own else {})
    typed = cast(dict[str, Value], parameters)
    seal = Seal(architecture, typed, game, spec.observation_shape, spec.n_actions)
    try:
        files.check_seal(seal)
    except CheckpointFileError as error:
        field = "parameters" if architecture.isprintable() else "architecture"
        raise BadInputError(field, str(error)) from error
    return seal


def _find_game_spec(game: str) -> GameSpec:
    try:
        return games.get(game).spec
    except ArenaError as error:
        raise BadInputError("game", str(error)) from error


def _check_name(new: New) -> None:
    """Refuse a name that an agent has, before the file is sealed."""
    namesake = Agent.objects.filter(game=new.game, name=new.agent_name).first()
    if namesake is not None and not _may_change(namesake):
        raise BadInputError(
            "name", f"{new.agent_name!r} is already an agent of {new.game}: choose another name"
        )
    # Before the file is stored: the checks of the rows come after it.
    try:
        Agent(name=new.agent_name, game=new.game, policy=POLICY).clean_fields({"checkpoint"})
        check_spelling(new.agent_name, *parse_policy(POLICY))
        Checkpoint._meta.get_field("run").clean(new.name, None)
    except ValidationError as error:
        raise BadInputError("name", f"{new.name!r:.150}: {'; '.join(error.messages)}") from error


def _may_change(agent: Agent) -> bool:
    """Say whether an agent has never played: its checkpoint was refused."""
    return agent.checkpoint is not None and agent.checkpoint.state == Checkpoint.State.REFUSED


def _check_new(upload: SealedFile) -> None:
    """Refuse a checkpoint that is stored, but let a refused one be given again to its agent."""
    stored = Checkpoint.objects.filter(sha256=upload.sha256).first()
    if stored is None:
        return
    names = list(stored.agents.order_by("pk").values_list("name", flat=True))
    owner = f"agent {names[0]!r} of {stored.game}" if names else "no agent"
    digest = upload.sha256[:_SHOWN]
    about = f"{upload.new.source_name}: its checkpoint {digest} is already that of {owner}"
    if stored.state != Checkpoint.State.REFUSED:
        raise BadInputError("file", f"{about}: use that one")
    if names and upload.new.agent_name not in names:
        raise BadInputError(
            "file",
            f"{about}, refused because of: {stored.reason}. Give it that agent's name to have it "
            "checked again",
        )


def _store_files(
    sealed: Sequence[SealedFile], *, actor: Actor | None, now: datetime
) -> list[Agent]:
    """Keep the files, then write the rows: a row never names a file that is not there."""
    try:
        for upload in sealed:
            blobs.store_file(upload.path, Checkpoint(sha256=upload.sha256).path)
        with transaction.atomic():
            agents = [_register_checkpoint(upload, now=now) for upload in sealed]
            if actor is not None:
                added = [agent.checkpoint for agent in agents if agent.checkpoint is not None]
                auditing.add_audit_row(
                    "checkpoint.add", actor=actor, targets=added, reason="", touched={}, now=now
                )
            return agents
    except BaseException as error:
        hashes = {upload.sha256 for upload in sealed}
        # Somebody else may have added the same file meanwhile: it is theirs, too.
        used = Checkpoint.objects.filter(sha256__in=hashes).exclude(state=Checkpoint.State.REFUSED)
        for sha256 in hashes - set(used.values_list("sha256", flat=True)):
            blobs.delete_file(Checkpoint(sha256=sha256).path)
        if not isinstance(error, IntegrityError):
            raise
        raise BadInputError(
            "file", "somebody else added the same checkpoint or name at this moment: try again"
        ) from error


def _register_checkpoint(upload: SealedFile, *, now: datetime) -> Agent:
    # Again inside the transaction: somebody else may have added it while the files were sealed.
    _check_new(upload)
    # One that was refused is written over, and begins anew with its check.
    row, _ = Checkpoint.objects.update_or_create(
        sha256=upload.sha256,
        defaults={
            "game": upload.seal.game,
            "architecture": upload.seal.architecture,
            "parameters": upload.seal.parameters,
            "run": upload.new.name,
            "step": upload.new.step,
            "parent_id": upload.parent,
            "source_name": upload.new.source_name[-200:],
            "n_bytes": upload.n_bytes,
            "forced_placement": upload.new.placement,
            "state": Checkpoint.State.CHECKING,
            "reason": "",
            "created_at": now,
            "checked_at": None,
            "asked_at": None,
            "n_asked": 0,
        },
    )
    return _register_agent(upload.new, row)


def _register_agent(new: New, row: Checkpoint) -> Agent:
    namesake = Agent.objects.filter(game=row.game, name=new.agent_name).first()
    agent = namesake or Agent(name=new.agent_name, game=row.game)
    if namesake and not _may_change(namesake) and namesake.checkpoint_id != row.sha256:
        raise BadInputError("name", f"{new.agent_name!r} is already an agent of {row.game}")
    agent.policy, agent.parameters = parse_policy(POLICY)
    agent.checkpoint = row
    agent.placement = row.forced_placement or Placement.LOCAL
    agent.version = read_version_here(agent)  # also of one that had another checkpoint before
    return save_agent(agent)
