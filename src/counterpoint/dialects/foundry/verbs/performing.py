"""Acts that land as one, or are only tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import Unit, joined

T = TypeVar("T")


class _Tried(Exception):
    """Ends a transaction that nothing of is to land."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def perform(context: Context, act: Callable[[Context], T], *, dry_run: bool = False) -> T:
    """Return what an act answers, all of which lands together; after a dry run nothing of it has.

    So a dry run refuses what the act would, and tells what it would.
    """
    if not dry_run:
        with joined(context):
            return act(context)
    # Apart from the transaction in which an idempotent call keeps its answer, and which has not begun.
    apart = replace(context, unit=None)
    try:
        with Unit(context=apart):
            raise _Tried(act(apart))  # noqa: TRY301 # it is no refusal, and undoes all
    except _Tried as tried:
        return tried.answer
