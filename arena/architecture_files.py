"""What architectures declare, read from their files without running them: torch may not be here.

Only what a file says plainly is understood: `Parameter(...)` of constants, and of names that are
constants at the top of the file. Of one that says it otherwise nothing is known.
"""

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from pkgutil import iter_modules
from threading import Lock

from arena.catalogs import find_plugin_file, list_plugin_folders
from arena.parameters import Parameter, Value

FOLDER = "architectures"
# Python 3.11 counts how deep all threads parse in one number: SystemError where two do at once.
_parsing = Lock()
_SHIPPED = Path(__file__).parents[1] / "inference" / FOLDER / "catalog"


def list_declared() -> dict[str, Sequence[Parameter]]:
    """Return the parameters of all architectures that declare them plainly, by id."""
    return {
        name: declared for name, declared in list_architectures().items() if declared is not None
    }


def list_architectures() -> dict[str, Sequence[Parameter] | None]:
    """Return the parameters of all architectures, by id; None where they are not plain."""
    # The shipped ones last: a plug-in of the same id is not loaded.
    folders = [*reversed(list_plugin_folders(FOLDER)), _SHIPPED]
    declared: dict[str, Sequence[Parameter] | None] = {}
    for folder in folders:
        for module in iter_modules([str(folder)]):
            path = find_plugin_file(folder, module.name)
            declared[module.name] = _read_file(path, path.stat().st_mtime_ns) if path else None
    return dict(sorted(declared.items()))


@lru_cache(maxsize=64)
def _read_file(path: Path, _changed_ns: int) -> Sequence[Parameter] | None:
    """Return what a file declares in its order; None where that is not plain."""
    try:
        with _parsing:
            module = ast.parse(path.read_text(encoding="utf-8"))
        return _read_parameters(module)
    # A value that is no constant, a name that is none, arguments that Parameter does not take.
    except (SyntaxError, ValueError, LookupError, TypeError):
        return None


def _read_parameters(module: ast.Module) -> list[Parameter]:
    constants: dict[str, Value] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                constants[node.targets[0].id] = _evaluate(node.value, constants)
            except (ValueError, LookupError):
                continue  # whatever it is, no parameter may need it
    calls = [
        node
        for node in ast.walk(module)
        # By this name alone: torch.nn.Parameter is another.
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == Parameter.__name__
    ]
    return [
        _make_parameter(call, constants) for call in sorted(calls, key=lambda call: call.lineno)
    ]


def _make_parameter(call: ast.Call, constants: Mapping[str, Value]) -> Parameter:
    arguments = [_evaluate(argument, constants) for argument in call.args]
    keywords = {str(keyword.arg): _evaluate(keyword.value, constants) for keyword in call.keywords}
    return Parameter(*arguments, **keywords)  # type: ignore[arg-type]  # a wrong one raises


def _evaluate(node: ast.expr, constants: Mapping[str, Value]) -> Value:
    """Return the value of a plain expression. Raises ValueError or LookupError for any other."""
    match node:
        case ast.Constant(value=str() | bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            return constants[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _evaluate(operand, constants)
            if not isinstance(value, str):
                return -value
        case ast.JoinedStr(values=parts):
            return "".join(str(_evaluate(part, constants)) for part in parts)
        case ast.FormattedValue(value=inner, format_spec=None):
            return _evaluate(inner, constants)
    raise ValueError(f"line {node.lineno} is no constant")
