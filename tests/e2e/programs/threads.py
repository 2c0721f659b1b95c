"""Write notes with many threads of one process, and say each when it was answered."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from counterpoint.app import App, Identity, open_app
from counterpoint.core.model.filters import Note


def write(app: App, name: str) -> None:
    """Write without an end."""
    session = app.agent().session
    core = app.core(Identity(kind="agent", name=name, session=session))
    count = 0
    while True:
        count += 1
        body = f"{name} {count}"
        record = core.journal.append(Note(kind="finding", body=body))
        os.write(1, f"{record.id} {body}\n".encode())


def main() -> None:
    """Open the folder that is named and write with as many threads as is said."""
    app = open_app(Path(sys.argv[1]), {})
    _ = app.ports
    for number in range(int(sys.argv[2])):
        threading.Thread(target=write, args=(app, f"agent-{number}"), daemon=True).start()
    threading.Event().wait(60)


if __name__ == "__main__":
    main()
