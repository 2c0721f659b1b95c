"""Commands of checks that nobody has let be run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Gate, Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.commands import allowing_line, is_listed, is_trusted
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import MalformedDocument


def find_unallowed(context: Context, view: Reading, commands: Iterable[Sequence[str]]) -> Lacking:
    """Return which commands would not be run now, and why; nothing is raised."""
    argvs = tuple(dict.fromkeys(tuple(argv) for argv in commands))
    if context.ports.checking is None:
        return Lacking()
    try:
        checking = context.ports.checking()
    except MalformedDocument as fault:
        return Lacking(commands=argvs, why=fault.message)
    project = view.find(Project)
    trusted, path = (project.trusted, project.search_path) if project else ("", "")
    if not is_trusted(checking, trusted, path):
        return Lacking(commands=argvs, why="counterpoint.toml is not what was trusted last")
    if checking.free:
        return Lacking()
    return Lacking(commands=tuple(argv for argv in argvs if not is_listed(checking, argv)))


def find_unallowed_checks(
    context: Context,
    view: Reading,
    items: Collection[str],
    commands: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Lacking]:
    """Return which commands of the closed checks of some items would not be run, by item; none for an item without any.

    commands: by item one more that is run for it, which is no gate.
    """
    if not items or context.ports.checking is None:
        return {}
    pairs = [
        (gate.item, gate.argv)
        for gate in view.select(Gate, item=tuple(items), kind="check", status="closed")
    ]
    pairs += [(item, tuple(argv)) for item, argv in (commands or {}).items()]
    if not pairs:
        return {}
    unallowed = find_unallowed(context, view, [argv for _, argv in pairs])
    lacks: dict[str, tuple[tuple[str, ...], ...]] = {}
    for item, argv in pairs:
        if argv in unallowed.commands and argv not in lacks.get(item, ()):
            lacks[item] = (*lacks.get(item, ()), tuple(argv))
    return {item: replace(unallowed, commands=argvs) for item, argvs in lacks.items()}


def way_to_run(lacking: Lacking) -> str:
    """Return as a hint how commands that lack come to be run, and what is done with the work until then."""
    allowed = (
        str(Act.TRUST)
        if lacking.why
        else f"{Act.ALLOW_COMMAND} `{allowing_line(lacking.commands)}`"
    )
    return f"{allowed}. {Act.SET_ASIDE}."
