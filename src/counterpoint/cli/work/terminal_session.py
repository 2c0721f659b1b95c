"""The identity a person works under: the session of a terminal, and retry keys."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from typing import Any, Final, TypeVar

import click

from counterpoint.core.coordinator import Core
from counterpoint.core.model.sessions import Session
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.ids import spelled

F = TypeVar("F", bound=Callable[..., Any])
_BYTES: Final = 16
LEASE_MINUTES: Final = 480
"""For how long a person holds a task that he has started: nobody renews it, and a working day is long."""


def in_terminal_session(core: Core) -> Core:
    """Return the core as its caller uses it in the session of his terminal.

    The id of that session follows from who is attested, so that every command of one terminal writes in the
    same one, and no secret has to lie anywhere. After the end of one comes the next.
    """
    who = principal_id_of(core.caller.actor)
    names = (_session(core.project, who, number) for number in count())
    return core.in_session(next(name for name in names if not _has_ended(core, name)))


def _session(project: str, who: str, number: int) -> str:
    digest = sha256(f"{project}\n{who}\n{number}".encode()).digest()
    return f"ses_{spelled(int.from_bytes(digest[:_BYTES]))}"


def _has_ended(core: Core, session: str) -> bool:
    stored = core.overview.find(Session, session)
    return stored is not None and stored.has_ended


def repeatable(command: F) -> F:
    """Give a command `--idempotency-key`."""
    return click.option(
        "--idempotency-key",
        "key",
        default="",
        metavar="TEXT",
        help="Run it only once under this key, however often it is repeated.",
    )(command)


def once(core: Core, key: str, request: dict[str, Json], run: Callable[[], Json]) -> Json:
    """Return what a call answers, under a key that of the first time. KeyReused for another call."""
    return core.once(key, request, run) if key else run()
