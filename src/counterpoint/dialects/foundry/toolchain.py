"""Asks the programs on the PATH which versions they are.

Programs in the tree are the agents', so none is started. A Python of a virtual environment there is read instead: its version from
`pyvenv.cfg`, its packages from their metadata.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from counterpoint.dialects.foundry.nouns.environment import Runtime
from counterpoint.kernel.starting import programs

_SECONDS: Final = 5
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_SEPARATORS: Final = re.compile(r"[-_.]+")
_OTHER_NAMES: Final = {"python": ("python3", "python")}
_INSTALLED: Final = (
    "import sys, importlib.metadata as m\n"
    "for n in sys.argv[1:]:\n"
    "    try: m.version(n)\n"
    "    except m.PackageNotFoundError: print(n)\n"
)
"""Looks at what is installed; nothing of the packages is loaded."""


def find_program(name: str) -> str:
    """Return where a program is; empty if it is not on the PATH outside of the tree."""
    if name == "python" and (settings := _environment()):
        return str(settings.parent / "bin" / "python")
    paths = (programs.find_program(alias) for alias in _OTHER_NAMES.get(name, (name,)))
    return next((path for path in paths if path), "")


def runtime(name: str) -> Runtime:
    """Return a program as it answers for its version."""
    path = find_program(name)
    if not path:
        return Runtime(available=False)
    settings = _environment() if name == "python" else None
    answer = _version_line(settings) if settings else _output((path, "--version"))
    version = _VERSION.search(answer or "")
    return Runtime(
        available=version is not None, version=version[0] if version else "", executable=path
    )


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return which packages the Python on the PATH has not; all of them without one."""
    if settings := _environment():
        installed = {*_packages(settings.parent)}
        return [name for name in names if _normal(name) not in installed]
    path = find_program("python")
    output = _output((path, "-I", "-c", _INSTALLED, *names)) if path else None
    return list(names) if output is None else output.split()


def _environment() -> Path | None:
    """Return the `pyvenv.cfg` of the Python that is first on the PATH if it is one of the tree."""
    path = next(filter(None, map(shutil.which, _OTHER_NAMES["python"])), None)
    if path is None or not programs.is_in_tree(path):
        return None
    settings = Path(path).parent.parent / "pyvenv.cfg"
    return settings if settings.is_file() else None


def _version_line(settings: Path) -> str:
    lines = settings.read_text("utf-8", "replace").splitlines()
    return next((line for line in lines if line.startswith("version")), "")


def _packages(environment: Path) -> Iterator[str]:
    folders = [str(path) for path in environment.glob("lib/python*/site-packages")]
    for distribution in distributions(path=folders):
        yield _normal(distribution.metadata["Name"] or "")


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def _output(argv: Sequence[str]) -> str | None:
    """Return what a program writes; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 -- a program of the PATH, asked for its version
            argv,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout
