"""Start a command anew, without what the environment would load into it.

1. Only a command that decides something for people, or about the work of others, and only if a variable is set from which the
   dynamic linker, the C library or the interpreter loads code.
2. The process stays the same one, with its terminal, its streams and its number: its image is replaced (execve).
3. It goes on as `-I`; where the program is found by no isolated interpreter, as in the packages of a user, as `-E -P`; where
   by neither, it goes on as it is and says so.

Code that is loaded before can undo this. It keeps a person's command from what a shell was given unawares, and no agent out
that chooses the variables of its own command (docs/threat-model.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

_DECIDES: Final = frozenset(
    {"approve", "reject", "waive", "reopen", "unblock", "release", "start", "finish", "top", "trust", "policy"}
    | {"profile", "agent", "token", "key", "audit", "plans", "sessions", "restore", "storage", "signer", "service"}
)  # fmt: skip
_PREFIXES: Final = ("LD_", "DYLD_")
_LOADS: Final = frozenset(
    {"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHONWARNINGS"}
    | {"PYTHONPYCACHEPREFIX", "PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONSTARTUP", "GCONV_PATH", "LOCPATH"}
    | {"GLIBC_TUNABLES", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES"}
)  # fmt: skip
_PROBE_SECONDS: Final = 20.0


def restart_without_loaders(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Replace this process by the same command in a clean environment, if it decides; else return."""
    loading = {name for name in environ if name in _LOADS or name.startswith(_PREFIXES)}
    command = next((word for word in words if not word.startswith("-")), "")
    if not loading or command not in _DECIDES:
        return
    clean = {name: value for name, value in environ.items() if name not in loading}
    for start in ([sys.executable, "-I"], [sys.executable, "-P", "-E"]):
        if _finds_program(start, clean):
            sys.stdout.flush()
            sys.stderr.flush()
            # The list of arguments is this command's own.
            os.execve(start[0], [*start, "-m", "counterpoint", *words], clean)  # noqa: S606 -- this interpreter, with the words of this command
    sys.stderr.write(
        f"counterpoint: {', '.join(sorted(loading))} can load code into this command, which does not start without\n"
    )


def _finds_program(start: list[str], environ: dict[str, str]) -> bool:
    import subprocess

    try:
        probe = subprocess.run(  # noqa: S603 -- this interpreter, with words of ours
            [*start, "-c", "import counterpoint.cli.grouping"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0
