"""Every surface by its name, built when it is first asked for.

A surface's list never varies by connection, only by what the connection was started with. So each
names the settings that its list depends on, and is built once for each combination of these.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterpoint.core.coordinator import Core
from counterpoint.core.model import lifecycles
from counterpoint.dialects.call import Call
from counterpoint.dialects.plugin import GROUP, Dialect, Renamed
from counterpoint.dialects.scoping import apply_scope
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable
from counterpoint.protocol.surface import Surface
from counterpoint.settings import READONLY, Settings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_MODES: Final = ("FULL", READONLY)
_KEPT: Final = 64
"""How many built surfaces are kept."""


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


def _foundry_rename(core: Core) -> list[Renamed]:
    from counterpoint.dialects.foundry.files.renaming import rename_redacted

    return rename_redacted(core)


def _foundry(settings: Settings) -> Surface[Call]:
    from counterpoint.dialects.foundry.surface import build

    return build(settings)


_BUILT_IN: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="native", build=_native),
        Dialect(name="workflow", build=_workflow),
        Dialect(name="agentic", build=_agentic),
        Dialect(name="foundry", build=_foundry, rename=_foundry_rename),
        Dialect(name="colibri", build=_colibri, varies_by=("mode", "proofs")),
        Dialect(
            name="symphony",
            build=_symphony,
            varies_by=("profile", "tool_scope"),
            types=_symphony_types,
        ),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of the surfaces that are built in, the default one first."""
    return tuple(_BUILT_IN)


def list_all_names() -> tuple[str, ...]:
    """Return the names of all surfaces: those that are built in, and those of installed packages."""
    return (*_BUILT_IN, *sorted(_entry_points().names - _BUILT_IN.keys()))


def surface(name: str, settings: Settings | None = None) -> Surface[Call]:
    """Return the surface of a name for settings; NotFound names those there are.

    A name that is not built in is looked for among the packages that are installed. Raises
    InvalidInput if the settings are not what the surface can be started with.
    """
    dialect = _dialect(name)
    effective = settings or Settings()
    if "mode" not in dialect.varies_by and effective.mode not in _MODES:
        raise InvalidInput(
            f"the dialect {name} has no mode {effective.mode[:40]!r}",
            hint=f"There are: {', '.join(_MODES)}.",
        )
    chosen = Settings(
        surface=name, **{varied: getattr(effective, varied) for varied in dialect.varies_by}
    )
    # A list that comes out of a file is what the file says when the connection starts.
    built = dialect.build(chosen) if chosen.tool_scope else _built(name, chosen)
    # A dialect that has modes of its own says itself what a caller may do in each.
    if effective.is_read_only and "mode" not in dialect.varies_by:
        built = restrict_to_reads(built)
    # So does one that has roles; in all others a scope file opens what it names, or nothing is started.
    is_scoped = bool(effective.tool_scope) and "tool_scope" not in dialect.varies_by
    return apply_scope(built, Path(effective.tool_scope)) if is_scoped else built


def restrict_to_reads(built: Surface[Call]) -> Surface[Call]:
    """Return a surface of which only what reads is open: whole tools, and actions of others."""
    narrowed = [(tool, tool.narrowed(lambda part: part.reads)) for tool in built.tools]
    return replace(
        built,
        tools=tuple(part for _, part in narrowed if part is not None),
        closed=(*built.closed, *(tool for tool, part in narrowed if part is None)),
    )


def types(name: str) -> dict[str, list[str]]:
    """Return the tools of each role by name, all of them under an empty one; empty without roles."""
    return _dialect(name).types()


def rename_redacted(core: Core) -> dict[str, list[Renamed]]:
    """Give items whose titles were redacted names without words, in every dialect whose names are made of titles; by its name.

    A package that cannot be loaded has named nothing that could be asked for.
    """
    renamed: dict[str, list[Renamed]] = {}
    for name in list_all_names():
        rename = None
        with suppress(ImportError, AttributeError, NotFound, ValueError, Unavailable):
            rename = _dialect(name).rename
        if rename is not None:
            renamed[name] = rename(core)
    return renamed


def bring_table(name: str) -> None:
    """Make the table of states of this name known, if an installed dialect brings it.

    A package that cannot be loaded is passed over: it is told to whoever asks for its surface.
    """
    for installed in sorted(_entry_points().names - _BUILT_IN.keys()):
        with suppress(ImportError, AttributeError, ValueError, Unavailable):
            _installed(installed)
        if name in lifecycles.LIFECYCLES:
            return


def _entry_points() -> EntryPoints:
    # Reading what is installed takes long to load, and the dialects that are built in need it not.
    from importlib import metadata

    return metadata.entry_points(group=GROUP)


@lru_cache(maxsize=_KEPT)
def _built(name: str, settings: Settings) -> Surface[Call]:
    return _dialect(name).build(settings)


def _dialect(name: str) -> Dialect:
    built_in = _BUILT_IN.get(name)
    return built_in or _installed(name)


@lru_cache(maxsize=_KEPT)
def _installed(name: str) -> Dialect:
    """Return the dialect that an installed package has by this name; its states are known from now on."""
    entry_points = _entry_points()
    if name not in entry_points.names:
        raise NotFound(
            f"there is no dialect {name[:60]!r}", hint=f"There are: {', '.join(list_all_names())}."
        )
    dialect = entry_points[name].load()
    if not isinstance(dialect, Dialect):
        raise Unavailable(
            f"{name[:60]!r} is no dialect",
            hint="Let its entry point name a `counterpoint.dialects.plugin.Dialect`.",
        )
    for table in dialect.lifecycles:
        lifecycles.register(table)
    return dialect
