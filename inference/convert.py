"""Turn a user's own weights into sealed checkpoints: python -m inference.convert --help.

Runs where they were trained and needs torch. Nothing is guessed: what no architecture can answer
exactly is refused, and where the forward of before can be rebuilt, both must answer the same.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import save_file

from arena.checkpoints import Seal, read_step, write_sealed
from arena.errors import ArenaError, CheckpointFileError
from arena.games import registry as games
from arena.parameters import Value
from inference.architectures import registry as architectures
from inference.architectures.base import values
from inference.conversion import actorcritic
from inference.conversion.base import Converted, Original, Tensors
from inference.conversion.naming import pair_tensors, rename_tensors, renamed_layers
from inference.conversion.sources import SUFFIXES, read_sb3, read_state_dict
from inference.model import load, skeleton

MAX_DIFFERENCE = 1e-5
_N_ROWS = 64
_FAILED = 2
_VALUE_HEAD = ("value.weight", "value.bias")
_SUFFIX = ".safetensors"
_KNOWN = {suffix for suffixes in SUFFIXES.values() for suffix in suffixes}
_UNKNOWN = "no parity check possible: the original's code is not known"


@dataclass(frozen=True)
class ConversionRequest:
    """What to convert into: parameters as given, names as told (old -> new, or dropped)."""

    program: str
    seal: Seal
    told: Mapping[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert what the arguments say; return 0, or 2 when a file failed."""
    options = _make_parser().parse_args(arguments)
    try:
        wish, sources = _read_wish(options), [options.path]
        if options.path.is_dir():
            ends = SUFFIXES[wish.program]
            files = [p for p in sorted(options.path.iterdir()) if p.suffix in ends and p.is_file()]
            if not files:
                raise CheckpointFileError(f"{options.path}: no file ends in {', '.join(ends)}")
            # By step: parents are there before their children.
            sources = sorted(files, key=lambda source: (read_step(source.name) or 0, source.name))
        options.out.mkdir(parents=True, exist_ok=True)
    except (ArenaError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    n_failed = _convert_all(sources, options.out, wish)
    if len(sources) > 1:
        sys.stdout.write(f"{len(sources) - n_failed} converted, {n_failed} failed\n")
    if n_failed:
        game = wish.seal.game
        sys.stderr.write(f"`evalsite games show {game}` says what it shows a network and takes\n")
    return _FAILED if n_failed else 0


def _convert_all(sources: Sequence[Path], out: Path, wish: ConversionRequest) -> int:
    """Convert each file; return how many failed. A reason is told once, with how many have it."""
    # Of a folder that was made for something else each file has the same reason.
    failed: dict[str, list[Path]] = {}
    for source in sources:
        try:
            lines = convert(source, out, wish)
        except (ArenaError, OSError) as error:
            alike = failed.setdefault(str(error), [])
            if not alike:
                sys.stderr.write(f"{source}: {error}\n")
            alike.append(source)
        else:
            sys.stdout.write(f"{source} -> " + "\n  ".join(lines) + "\n")
    for first, *others in failed.values():
        if others:
            sys.stderr.write(f"{len(others)} more: the same as of {first.name}\n")
    return sum(map(len, failed.values()))


def convert(source: Path, out: Path, wish: ConversionRequest) -> list[str]:
    """Write one checkpoint into out under the name of its source; return what to tell of it.

    Raises CheckpointFileError, and leaves nothing behind.
    """
    stem = source.stem if source.suffix in _KNOWN else source.name
    target = out / f"{stem}{_SUFFIX}"
    if target.exists():
        raise CheckpointFileError(f"{target} is there already and is not overwritten")
    converted = _convert_file(source, wish)
    seal = Seal(**{**vars(wish.seal), "parameters": dict(converted.parameters)})
    # In the folder of the target: the rename is atomic, and a failure leaves nothing behind.
    with TemporaryDirectory(dir=out, prefix=".converting-") as folder:
        plain, sealed = Path(folder) / "plain", Path(folder) / "sealed"
        # Cloned, because safetensors refuses tensors that share memory.
        save_file({name: tensor.clone() for name, tensor in converted.tensors.items()}, plain)
        checkpoint = write_sealed(plain, sealed, seal)
        parity = _compare_answers(sealed, converted.original)
        sealed.rename(target)
    step = read_step(source.name)
    summary = f"{target}  {checkpoint[:12]}" + ("" if step is None else f"  step {step}")
    return [summary, *converted.notes, parity]


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("convert", description="Turn weights into checkpoints.")
    parser.add_argument("path", type=Path, help="a file, or a folder: all files in it")
    parser.add_argument("--from", dest="program", choices=sorted(SUFFIXES), required=True)
    parser.add_argument("--architecture", required=True, help=", ".join(architectures.names()))
    parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--game", required=True, help="whose observations it sees")
    parser.add_argument("--out", type=Path, required=True, help="folder; made if missing")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a layer or tensor of the file and its name in the architecture; OLD= drops it",
    )
    return parser


def _read_wish(options: argparse.Namespace) -> ConversionRequest:
    architecture = architectures.get(options.architecture)
    spec = games.get(options.game).spec
    words = _read_pairs("--parameter", options.parameter)
    checked = values(architecture, words)
    parameters = {name: checked[name] for name in words}
    seal = Seal(architecture.id, parameters, spec.id, spec.observation_shape, spec.n_actions)
    return ConversionRequest(options.program, seal, _read_pairs("--map", options.map))


def _read_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name or name in pairs:
            raise CheckpointFileError(f"{option} {word}: must be NAME=VALUE, each name once")
        pairs[name] = value
    return pairs


def _convert_file(source: Path, wish: ConversionRequest) -> Converted:
    if wish.program == "state_dict":
        return _pair_by_names(read_state_dict(source), wish)
    if wish.seal.architecture != "mlp" or wish.told:
        raise CheckpointFileError(
            f"--from {wish.program} knows its names and makes an mlp: "
            "give --architecture mlp and no --map, or convert --from state_dict"
        )
    parameters: Mapping[str, Value] = wish.seal.parameters
    if wish.program == "sb3":
        return _round_to_floats(actorcritic.sb3(*read_sb3(source), parameters))
    return _round_to_floats(actorcritic.cleanrl(read_state_dict(source), parameters))


def _pair_by_names(tensors: Tensors, wish: ConversionRequest) -> Converted:
    """Return the tensors under the names of the architecture, with a note of what was renamed."""
    after = rename_tensors(tensors, wish.told)
    renamed = {after[name]: tensor for name, tensor in tensors.items() if name in after}
    if len(renamed) != len(after):
        raise CheckpointFileError("--map gives two tensors one name")
    shapes = {n: tuple(t.shape) for n, t in skeleton(wish.seal).state_dict().items()}
    silent = _make_silent_value(renamed, shapes)
    renamed |= silent
    olds = pair_tensors({name: tuple(tensor.shape) for name, tensor in renamed.items()}, shapes)
    notes = [f"{old} is {new}, by its shape" for old, new in renamed_layers(olds)]
    notes += [actorcritic.NO_VALUE] if silent else []
    paired = {new: renamed[old] for new, old in olds.items()}
    return _round_to_floats(Converted(paired, wish.seal.parameters, None, notes))


def _make_silent_value(tensors: Tensors, expected: Mapping[str, tuple[int, ...]]) -> Tensors:
    """Return a value head of zeros where that is all that a file lacks; else nothing."""
    head = {name: shape for name, shape in expected.items() if name in _VALUE_HEAD}
    has_one = any(tuple(tensor.shape) in head.values() for tensor in tensors.values())
    if len(head) < len(_VALUE_HEAD) or has_one or len(tensors) != len(expected) - len(head):
        return {}
    return {name: torch.zeros(shape) for name, shape in head.items()}


def _round_to_floats(converted: Converted) -> Converted:
    """Return weights that a checkpoint may hold; float64 is rounded to float32, and said."""
    for name, tensor in converted.tensors.items():
        if not tensor.is_floating_point() or tensor.layout != torch.strided:
            raise CheckpointFileError(f"{name} is {tensor.dtype}: weights must be dense floats")
    doubles = [n for n, tensor in converted.tensors.items() if tensor.dtype == torch.float64]
    if not doubles:
        return converted
    tensors = {n: t.float() if n in doubles else t for n, t in converted.tensors.items()}
    notes = [*converted.notes, f"{len(doubles)} tensors of float64 are rounded to float32"]
    return Converted(tensors, converted.parameters, converted.original, notes)


def _compare_answers(path: Path, original: Original | None) -> str:
    """Return what the comparison says. Raises CheckpointFileError where the answers differ."""
    model = load(path)
    if original is None:
        return _UNKNOWN
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(_N_ROWS, *model.seal.observation_shape, generator=generator)
    with torch.no_grad():
        logits, values, _ = model.module(rows, torch.zeros(_N_ROWS, model.state_size))
        expected = original(rows)
    difference = max(
        float((answer - other).abs().max())
        for answer, other in zip((logits, values), expected, strict=True)
    )
    # Not `>`: a difference that is NaN must fail, too.
    if not difference <= MAX_DIFFERENCE:
        raise CheckpointFileError(
            f"answers differ from the original by {difference:.2g}: at most {MAX_DIFFERENCE:.0e}"
        )
    return f"answers as the original: differs by at most {difference:.2g} on {_N_ROWS} observations"


if __name__ == "__main__":
    sys.exit(main())
