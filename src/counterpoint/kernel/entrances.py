"""The tool, resource or command of the present call, for the record of reads."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ENTRANCE: Final[ContextVar[str]] = ContextVar("entrance", default="")
"""What is called, such as `native show`; set where a call comes in, in the thread that it runs in."""


@contextmanager
def entered(entrance: str) -> Generator[None]:
    """Say during a block what was called."""
    token = ENTRANCE.set(entrance)
    try:
        yield
    finally:
        ENTRANCE.reset(token)
