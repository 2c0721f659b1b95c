"""Commands of checks that nobody has let be run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from counterpoint.core.model.trust.checking import Checking, Lacking
from counterpoint.core.model.work import Gate, Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.forks import find_cut_off
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.commands import (
    CHANGED,
    ELSEWHERE,
    ELSEWHERE_CONFIGURED,
    OLDER,
    allowing_line,
    is_listed,
    is_trusted,
)
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import MalformedDocument, NotTrusted


def find_trusted(context: Context, view: Reading) -> tuple[str, str]:
    """Return the digest of what was trusted last and the folders of programs that go with it, as this account has trusted it here too; else nothing."""
    project = view.find(Project)
    if project is None or not context.ports.trusted.covers(project.ledger, project.trusted):
        return "", ""
    if find_cut_off(context, view) is not None:
        return "", ""
    return project.trusted, project.search_path


def why_elsewhere(context: Context, view: Reading) -> str:
    """Return why tokens and credentials of the ledger open nothing here; empty if this account trusts it in its place."""
    project = view.find(Project)
    if project is None:
        return ""
    if not context.ports.trusted.is_trusted(project.ledger):
        return ELSEWHERE
    return OLDER if find_cut_off(context, view) is not None else ""


def refuse_elsewhere(context: Context, view: Reading) -> None:
    """Raise NotTrusted for a ledger that this account does not trust in its place, ForkRefused for one that is older than what was signed of it."""
    if why := why_elsewhere(context, view):
        raise find_cut_off(context, view) or NotTrusted(
            f"{why}; so its tokens and credentials open nothing", hint=f"{Act.TRUST}."
        )


def why_not_trusted(context: Context, view: Reading, checking: Checking) -> str:
    """Return why what a configuration loosens does not count; empty if it does, or loosens nothing."""
    if is_trusted(checking, *find_trusted(context, view)):
        return ""
    project = view.find(Project)
    if project is None or not is_trusted(checking, project.trusted, project.search_path):
        return CHANGED
    return why_elsewhere(context, view) or ELSEWHERE_CONFIGURED


def refuse_untrusted(context: Context, view: Reading, checking: Checking, *hints: str) -> str:
    """Return the folders that programs are found in, as they were trusted; NotTrusted for a configuration that does not count."""
    trusted, path = find_trusted(context, view)
    if not is_trusted(checking, trusted, path):
        if fault := find_cut_off(context, view):
            raise fault
        why = why_not_trusted(context, view, checking)
        raise NotTrusted(
            "" if why == CHANGED else why, hint=". ".join((f"{Act.TRUST}", *hints)) + "."
        )
    return path


def find_unallowed(context: Context, view: Reading, commands: Iterable[Sequence[str]]) -> Lacking:
    """Return which commands would not be run now, and why; nothing is raised."""
    argvs = tuple(dict.fromkeys(tuple(argv) for argv in commands))
    if context.ports.checking is None:
        return Lacking()
    try:
        checking = context.ports.checking()
    except MalformedDocument as fault:
        return Lacking(commands=argvs, why=fault.message)
    if why := why_not_trusted(context, view, checking):
        return Lacking(commands=argvs, why=why)
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
    allowed = f"{Act.ALLOW_COMMAND} `{allowing_line(lacking.commands)}`"
    if lacking.why:
        allowed = str(Act.AUDIT if lacking.why == OLDER else Act.TRUST)
    return f"{allowed}. {Act.SET_ASIDE}."
