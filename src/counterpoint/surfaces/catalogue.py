"""Every surface by its name, built when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.surface import Surface
from counterpoint.surfaces.call import Call

Build = Callable[[], Surface[Call]]


def _native() -> Surface[Call]:
    from counterpoint.surfaces.native.surface import build

    return build()


_BUILDERS: dict[str, Build] = {"native": _native}


def names() -> tuple[str, ...]:
    """Answer the names of all surfaces, the default one first."""
    return tuple(_BUILDERS)


@cache
def surface(name: str) -> Surface[Call]:
    """Answer the surface of a name; NotFound names those there are."""
    build = _BUILDERS.get(name)
    if build is None:
        raise NotFound(
            f"there is no surface {name[:60]!r}", hint=f"There are: {', '.join(_BUILDERS)}."
        )
    return build()
