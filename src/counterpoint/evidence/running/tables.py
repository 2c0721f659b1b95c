"""Reads a table of counterpoint.toml, and finds what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

from counterpoint.core.rules.models.providers import is_here

MOST_DOLLARS: Final = 1_000_000
MANY: Final = 50
_MICROS: Final = 1_000_000
_SEVERAL: Final = 200
_SECRETS: Final = {"api_key", "apikey", "key", "password", "secret", "token"}
_OF_PROVIDERS: Final = ("models.providers.", "web.search.")


@dataclass(slots=True)
class Table:
    """One table on its way to being read: what it says, and what is wrong with it."""

    place: str
    said: dict[str, Any]
    faults: list[str] = field(default_factory=list[str])

    def take(self, name: str, fits: Callable[[Any], bool], words: str, otherwise: Any) -> Any:
        """Return a value and take it away; what does not fit is a fault."""
        value = self.said.pop(name, otherwise)
        if value is not otherwise and not fits(value):
            self.faults.append(f"`{name}` below [{self.place}] must be {words}")
            return otherwise
        return value

    def end(self) -> list[str]:
        """Return what is wrong: also what nobody has taken, which is not known."""
        return [
            *self.faults,
            *(_stray(name, self.place) for name in sorted(self.said)),
        ]


def _stray(name: str, table_name: str) -> str:
    words = f"`{name}` is not known below [{table_name}]"
    if name.casefold() not in _SECRETS or not table_name.startswith(_OF_PROVIDERS):
        return words
    # Whoever puts a key here has to learn that the file is read by others, and where it belongs.
    provider = table_name.rpartition(".")[2]
    return f"{words}: keys do not belong in this file; take it out, then run `counterpoint provider login {provider}`"


def micros(dollars: float) -> int:
    """Return an amount of dollars in millionths."""
    return round(dollars * _MICROS)


def is_tables(value: Any) -> bool:
    """Return whether a value is a table of tables."""
    if type(value) is not dict:
        return False
    tables = cast("dict[str, Any]", value)
    return len(tables) <= _SEVERAL and all(type(table) is dict for table in tables.values())


def is_money(value: Any) -> bool:
    """Return whether a value is an amount of dollars."""
    return type(value) in {int, float} and 0 <= value <= MOST_DOLLARS


def is_word(value: Any) -> bool:
    """Return whether a value is a short text on one line."""
    return type(value) is str and 0 < len(value) <= 200 and value.isprintable()  # noqa: PLR2004 -- longer than any model's


def is_names(value: Any) -> bool:
    """Return whether a value is a list of such texts."""
    return (
        type(value) is list
        and len(cast("list[Any]", value)) <= MANY
        and all(is_word(word) for word in cast("list[Any]", value))
    )


def is_address(value: Any) -> bool:
    """Return whether a value is an address that keys may go to: https, or http to this machine, without user, query and fragment."""
    if not is_word(value):
        return False
    try:
        parts = urlsplit(str(value))
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(value))
