"""What the format of every provider has: question and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol, cast

from counterpoint.core.model.models import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import ProviderBusy, ProviderFailed

_SAID: Final = 300
_COUNTED: Final = 1_000_000_000
"""Tokens beyond which a number is none of them."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """An answer that is coming. stop: None until it has ended as the format says; one that is cut off never has."""

    parts: list[str] = field(default_factory=list[str])
    model: str = ""
    stop: Stop | None = None
    tokens: Tokens = field(default_factory=Tokens)
    is_refused: bool = False

    def add(self, piece: str) -> str:
        """Take a piece of the text in, and return it."""
        if piece:
            self.parts.append(piece)
        return piece


def fail(reason: str, *, is_busy: bool) -> NoReturn:
    """Raise what a fault in the middle of an answer means."""
    kind = ProviderBusy if is_busy else ProviderFailed
    raise kind(f"the answer broke off: {' '.join(reason.split())[:_SAID] or 'no reason was given'}")


def table(value: Any) -> dict[str, Any]:
    """Return an object that stands somewhere; nothing for null and what is not there. TypeError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, Any]", value)


def rows(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for null. TypeError for anything else."""
    if not isinstance(value, list | None):
        raise TypeError
    return [table(row) for row in cast("list[Any]", value or [])]


def words(value: Any) -> str:
    """Return a text; nothing for null. TypeError for anything else."""
    if not isinstance(value, str | None):
        raise TypeError
    return value or ""


def count(value: Any) -> int:
    """Return a number of tokens; 0 for null and what is below. TypeError for anything else."""
    if value is None:
        return 0
    if type(value) is not int or value > _COUNTED:
        raise TypeError
    return max(0, value)


class Format(Protocol):
    """One format; pure, so that it can be read beside its description."""

    def path(self, question: Question) -> str:
        """Return what follows the address of the provider."""
        ...

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key; none without one."""
        ...

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request for a streamed answer."""
        ...

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take an event into the draft and return the text that it adds; ProviderFailed for one that tells of a fault."""
        ...
