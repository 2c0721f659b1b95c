"""Asks the programs on the PATH which versions they are."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

from counterpoint.dialects.foundry.nouns.environment import Runtime

_SECONDS: Final = 5
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_OTHER_NAMES: Final = {"python": ("python3", "python")}
_INSTALLED: Final = (
    "import sys, importlib.metadata as m\n"
    "for n in sys.argv[1:]:\n"
    "    try: m.version(n)\n"
    "    except m.PackageNotFoundError: print(n)\n"
)
"""Looks at what is installed; nothing of the packages is loaded."""


def find_program(name: str) -> str:
    """Return where a program is; empty if it is not on the PATH."""
    found = (shutil.which(one) for one in _OTHER_NAMES.get(name, (name,)))
    return next((path for path in found if path), "")


def runtime(name: str) -> Runtime:
    """Return a program as it answers for its version."""
    path = find_program(name)
    if not path:
        return Runtime(available=False)
    said = _VERSION.search(_output((path, "--version")) or "")
    return Runtime(available=said is not None, version=said[0] if said else "", executable=path)


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return which packages the Python on the PATH has not; all of them without one."""
    path = find_program("python")
    said = _output((path, "-I", "-c", _INSTALLED, *names)) if path else None
    return list(names) if said is None else said.split()


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
