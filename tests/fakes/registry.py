"""Forgeries by their names, each noted where it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Registry(dict[str, F]):
    """Kinds of forgeries. sound: the names of those after which nothing is wrong."""

    def __init__(self) -> None:
        """Know none yet."""
        super().__init__()
        self.sound: set[str] = set()

    def named(self, name: str, *, sound: bool = False) -> Callable[[F], F]:
        """Note a forgery under a name."""

        def keep(made: F) -> F:
            self[name] = made
            if sound:
                self.sound.add(name)
            return made

        return keep
