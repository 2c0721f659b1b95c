"""Modules of Python that others import and a short command never asks.

`dataclasses` imports `inspect` for classes without a docstring, and that one the parser and the disassembler of Python; `pathlib`
imports `ipaddress` by way of URLs; `secrets` brings every distribution of `random` to read bytes of the system. Together they
are a twentieth of a short command. Each of them is put in its place unloaded: a plain module of that name, whose first look at what
it holds loads it. `LazyLoader` of the standard library does not help: there an import a second time is such a look.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any, Final

_LOADING: Final = RLock()
_UNDER_WAY: Final[set[str]] = set()


class _Later(ModuleType):
    """A module that is loaded when it is first asked for anything, and a plain one from then on."""

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet comes here. Other threads wait; this one may come again from within the module.
        with _LOADING:
            if type(self) is _Later and self.__name__ not in _UNDER_WAY:
                _UNDER_WAY.add(self.__name__)
                try:
                    spec: Any = self.__spec__
                    spec.loader.exec_module(self)
                    object.__setattr__(self, "__class__", ModuleType)
                finally:
                    _UNDER_WAY.discard(self.__name__)
        return ModuleType.__getattribute__(self, name)


def load_when_asked(*names: str) -> None:
    """Have modules loaded by the first look at what they hold; those that are loaded stay as they are."""
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            sys.modules[name] = module = module_from_spec(spec)
            object.__setattr__(module, "__class__", _Later)
