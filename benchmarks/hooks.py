"""What one hook after a call of a tool costs an agent, beside bare Python.

A round: a shell that starts bare Python, bare Python, the hook as `init --events` writes it with a server that takes the event
in, and the same where no server is there, which counts the event as lost.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from _measure import Row, Series, asked, folder, median, publish, row
from _pipe import Pipe, end_server, relayed

import counterpoint
from counterpoint.cli.clients.hooks import HOOKS, REPORTER

_MOST_MS = 20
_TOLD = json.dumps(
    {
        "session_id": "00893aaf-19fa-41d2-8238-13269b9b3ca0",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "ok\n" * 1_000, "stderr": "", "interrupted": False},
        "tool_use_id": "toolu_01ABC123",
    }
).encode()


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=60)
    compileall.compile_dir(str(Path(counterpoint.__file__).parent), quiet=1)
    command = f"{REPORTER} {HOOKS[0].client} || true"
    found: Series = {}
    with folder() as place:
        there, gone = place / "there.db", place / "gone.db"
        for database in (there, gone):
            with Pipe(relayed(database), place) as agent:
                agent.call("note", kind="finding", text="begun")
        end_server(gone)
        with Pipe(relayed(there), place) as agent:
            agent.call("brief")
            try:
                for number in range(-3, wanted.rounds):
                    took = {
                        "python": _timed((sys.executable, "-c", "pass"), there),
                        "shell": _timed(("sh", "-c", f"{sys.executable} -c pass || true"), there),
                        "up": _timed(("sh", "-c", command), there),
                        "down": _timed(("sh", "-c", command), gone),
                    }
                    for name, seconds in took.items() if number >= 0 else ():
                        found.setdefault(name, []).append(seconds)
            finally:
                end_server(there)
    publish("hooks", _rows(found))


def _timed(argv: Sequence[str], database: Path) -> float:
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COUNTERPOINT_DB": str(database),
    }
    begin = time.perf_counter()
    subprocess.run(argv, input=_TOLD, env=environ, check=True)
    return time.perf_counter() - begin


def _rows(found: Series) -> list[Row]:
    python = {"floor": median(found["python"]), "beside": "bare Python"}
    shell = {"floor": median(found["shell"]), "beside": "a shell that starts bare Python"}
    return [
        row("bare Python", found["python"]),
        row("a shell that starts bare Python", found["shell"], **python),
        row("the hook, server up", found["up"], most=_MOST_MS),
        row("  beside the shell", found["up"], **shell),
        row("the hook, no server", found["down"], most=_MOST_MS),
        row("  beside the shell", found["down"], **shell),
    ]


if __name__ == "__main__":
    main()
