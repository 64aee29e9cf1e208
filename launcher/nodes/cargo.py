"""What travels to another machine: the code that a play node runs, and plug-in folders."""

import gzip
import io
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from launcher.errors import SetupError
from launcher.folders import ROOT

# What a node imports, and what installs its packages there.
CODE: Final = ("arena", "evalsite_client", "inference", "workers")
FILES: Final = ("pyproject.toml", "constraints.txt", "README.md")
LEFT_OUT: Final = frozenset({"__pycache__", "tests", "node_modules", "var"})
MAX_BYTES: Final = 512 << 20
"""Of plug-in folders together: more is somebody's data, not code."""


def pack_cargo(plugins: Sequence[Path], root: Path = ROOT) -> bytes:
    """Return a tar file: `code/` and a folder of plug-ins each, `plugins/1`, `plugins/2` ...

    Hidden files, tests and caches stay here. Raises SetupError for a folder that cannot be read.
    """
    packed = io.BytesIO()
    try:
        # The fastest level: the code is small, and models in plug-in folders do not shrink.
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as archive,
        ):
            for name in CODE:
                _add_files(archive, _list_files(root / name), root, "code")
            _add_files(
                archive, (root / name for name in FILES if (root / name).is_file()), root, "code"
            )
            for number, folder in enumerate(plugins, 1):
                files = _list_files(folder)
                if (size := sum(file.stat().st_size for file in files)) > MAX_BYTES:
                    raise SetupError(
                        f"the plug-in folder {folder} holds {size >> 20} MiB, more than the "
                        f"{MAX_BYTES >> 20} that are copied: keep data elsewhere"
                    )
                _add_files(archive, files, folder, f"plugins/{number}")
    except OSError as error:
        place = error.filename or root
        raise SetupError(
            f"{place} cannot be read ({error.strerror}): nothing is started"
        ) from error
    return packed.getvalue()


def _list_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise SetupError(f"there is no folder {folder}: correct EVALSITE_PLUGINS")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(
            part in LEFT_OUT or part.startswith(".") for part in path.relative_to(folder).parts
        )
    )


def _add_files(archive: tarfile.TarFile, files: Iterable[Path], root: Path, place: str) -> None:
    for file in files:
        # Links travel as what they lead to: it may lie outside.
        entry = archive.gettarinfo(str(file.resolve()), f"{place}/{file.relative_to(root)}")
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o600
        with file.open("rb") as content:
            archive.addfile(entry, content)
