"""Every surface by its name, built when it is first asked for.

A surface's list never varies by connection, only by what the connection was started with. So each
names the settings that its list depends on, and is built once for each combination of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.surface import Surface
from counterpoint.settings import Settings

_KEPT: Final = 64
"""How many built surfaces are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """How to build a surface, the settings that its list depends on, and the tools of each role."""

    build: Callable[[Settings], Surface[Call]]
    varies_by: tuple[str, ...] = ()
    types: Callable[[], dict[str, list[str]]] = dict


def _native(_settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.native.surface import build

    return build()


def _workflow(_settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.workflow.surface import build

    return build()


def _symphony(settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.symphony.surface import build

    return build(settings)


def _symphony_types() -> dict[str, list[str]]:
    from counterpoint.dialects.symphony.surface import types

    return types()


def _agentic(_settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.agentic.surface import build

    return build()


def _colibri(settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.colibri.surface import build

    return build(settings)


_DIALECTS: dict[str, _Dialect] = {
    "native": _Dialect(build=_native),
    "workflow": _Dialect(build=_workflow),
    "agentic": _Dialect(build=_agentic),
    "colibri": _Dialect(build=_colibri, varies_by=("mode", "proofs")),
    "symphony": _Dialect(
        build=_symphony, varies_by=("profile", "tool_scope"), types=_symphony_types
    ),
}


def names() -> tuple[str, ...]:
    """Return the names of all surfaces, the default one first."""
    return tuple(_DIALECTS)


def surface(name: str, settings: Settings | None = None) -> Surface[Call]:
    """Return the surface of a name for settings; NotFound names those there are.

    Raises InvalidInput if the settings are not what the surface can be started with.
    """
    dialect = _DIALECTS.get(name)
    if dialect is None:
        raise NotFound(
            f"there is no surface {name[:60]!r}", hint=f"There are: {', '.join(_DIALECTS)}."
        )
    given = settings or Settings()
    chosen = Settings(
        surface=name, **{varied: getattr(given, varied) for varied in dialect.varies_by}
    )
    # A list that comes out of a file is what the file says when the connection starts.
    return dialect.build(chosen) if chosen.tool_scope else _built(name, chosen)


def types(name: str) -> dict[str, list[str]]:
    """Return the tools of each role by name, all of them under an empty one; empty without roles."""
    return _DIALECTS[name].types()


@lru_cache(maxsize=_KEPT)
def _built(name: str, settings: Settings) -> Surface[Call]:
    return _DIALECTS[name].build(settings)
