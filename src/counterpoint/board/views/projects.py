"""The page of projects: names of the ledgers that a person may open, and where their boards are.

Rules: (1) Nothing of another ledger is read but what its board was called when this account opened it. (2) Each board has a server, a
login and a cookie of its own. (3) An agent's sitting is shown its own project alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, cast

from counterpoint.board.pages import Answer
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.places import open_private, state_folder

MAX_BOARDS: Final = 40
MAX_BYTES: Final = 64 * 1024
MAX_NAME: Final = 200
_FILE: Final = "boards.json"
_ADDRESS: Final = re.compile(r"http://(127\.0\.0\.1|\[::1\]|localhost):[0-9]{1,5}")


Board = tuple[str, str]
"""Where a board is, and what its project is called."""


def list_boards(environ: Mapping[str, str]) -> list[Board]:
    """Return the boards that this account has opened, the latest first; none for a file that nobody here wrote."""
    path = Path(state_folder(environ), _FILE)
    try:
        content = path.read_bytes() if path.stat().st_uid == os.getuid() else b""
        rows = json.loads(content[:MAX_BYTES])
    except (OSError, ValueError):
        return []
    boards: list[Board] = []
    for row in cast("list[Any]", rows)[:MAX_BOARDS] if isinstance(rows, list) else ():
        match row:
            # It becomes a link: nothing leads to another machine, or is script.
            case [str() as address, str() as name] if _ADDRESS.fullmatch(address):
                boards.append((address, name[:MAX_NAME]))
            case _:
                pass
    return boards


def remember_board(environ: Mapping[str, str], board: Board) -> None:
    """Write down that this account has opened a board; OSError, ForeignFolder."""
    folder = Path(open_private(state_folder(environ)))
    # Whatever board was at this address is there no more.
    others = [other for other in list_boards(environ) if other[0] != board[0]]
    path, fresh = folder / _FILE, folder / f"{_FILE}.{token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump([board, *others][:MAX_BOARDS], file)
    # Another command may write at once: the file is whole, whoever is last.
    fresh.replace(path)


class ProjectReads(Verbs):
    """Reads of the projects of one database."""

    def others(self) -> list[Project]:
        """Return the other projects of the database, by name."""
        own = self._context.project
        projects = self._context.ports.store.projects()
        others = (project for project in projects if project.project != own)
        return sorted(others, key=lambda project: (project.title, project.project))[:MAX_BOARDS]


def read_projects(answer: Answer) -> dict[str, Any]:
    """Return this project, and the names of others for a person."""
    core = answer.core
    is_person = core.caller.actor.kind == "human"
    stored = core.projects.find()
    return {
        "stored": stored,
        "is_person": is_person,
        "others": core.use(ProjectReads).others() if is_person else [],
        "boards": [
            board
            for board in (list_boards(os.environ) if is_person else [])
            if board[0] != answer.facts.address
        ],
    }
