"""Regular expressions that are compiled when they are first asked.

A module names its expressions at its top, and a short command asks few of them: to compile all took a tenth of `status`.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Final, cast

_METHODS: Final = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class _Waiting:
    """An expression with the methods of `re.Pattern`; compiled by the first that is."""

    __slots__ = (*_METHODS, "_said")

    def __init__(self, *arguments: object) -> None:
        self._said = arguments

    def __getattr__(self, name: str) -> Any:
        # Only for what stands in no slot yet: from the first question on each method is as near as one of `re`.
        compiled = re.compile(*cast("tuple[str, int]", self._said))
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an expression to be asked by its methods; `re.error` comes with the first question, if it is none.

    It is no `re.Pattern` itself: `re.sub` and its like do not take it.
    """
    return cast("re.Pattern[AnyStr]", _Waiting(text, flags))
