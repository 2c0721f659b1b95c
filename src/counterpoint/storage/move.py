"""Moves a project's ledger from one store into another.

What is moved: the entries byte by byte, the texts they name, what writers signed, and the hashes of the tree, which are
made anew from the entries. Rows are not copied: they are the fold of the entries in the other store.

A project has moved if and only if (1) the other store had nothing of it, (2) entries, head and tree
of both are the same, (3) every table of both is the same, cell by cell, (4) so are the texts, and what writers signed. All of
it happens in one transaction of the other store, which is undone if one of these does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.operations.auditing.replay import Fold
from counterpoint.core.ports.store import Append, Reading, Store, Writing
from counterpoint.kernel.errors import Conflict, NotFound, StateDiffers

_REPORTED_EVERY = 100
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was moved: how many entries, the root of their tree (hex), how many texts."""

    project: str
    size: int
    root: str
    texts: int


def move_project(
    source: Store, target: Store, project: str, progress: Callable[[int], None] | None = None
) -> Moved:
    """Copy a project into a store that has nothing of it; NotFound, Conflict, StateDiffers.

    progress: hears how many entries are copied. The project stays in the source as it is.
    """
    with source.reading(project) as view:
        if not view.head().size:
            raise NotFound(
                f"there is no ledger of {project!r} to move",
                hint="Name a project that it has with `--project`.",
            )
        with target.writing(project) as writing:
            if writing.head().size:
                raise Conflict(
                    f"there is a ledger of {project!r} already where it would go",
                    hint="Move it into a database that does not have this project.",
                )
            texts = 0
            for _, text in view.texts():
                writing.keep({text.commitment: text})
                texts += 1
            for signature in view.signatures():
                writing.vouch(signature)
            frontier = _copy(view, writing, progress)
            # Before the commit: what is not the same is undone.
            _compare(view, writing)
    return Moved(project=project, size=frontier.size, root=frontier.root().hex(), texts=texts)


def _copy(view: Reading, writing: Writing, progress: Callable[[int], None] | None) -> Frontier:
    """Append every entry and fold its rows; answer the edge of the tree."""
    frontier, fold = Frontier(), Fold(writing)
    for sequence, written in enumerate(view.entries()):
        fields = load_fields(written)
        leaf = leaf_hash(written)
        frontier, nodes = frontier.append(leaf)
        fold.apply(fields)
        writing.append(
            Append(
                sequence=sequence,
                previous=fields["h"],
                data=written,
                leaf=leaf,
                time=fields["t"],
                subject=fields.get("s", ""),
                action=fields["a"],
                frontier=frontier.to_bytes(),
                nodes=tuple(nodes),
            )
        )
        if progress is not None and sequence % _REPORTED_EVERY == 0:
            progress(sequence)
    return frontier


def _compare(view: Reading, writing: Writing) -> None:
    """Read both sides again; StateDiffers names the first thing that is not the same."""
    if view.head() != writing.head():
        raise _differs("the end of the ledger")
    _check_same("the entries", view.entries(), writing.entries())
    _check_same("the texts", view.texts(), writing.texts())
    _check_same("the signatures", view.signatures(), writing.signatures())
    for noun in view.tables.values():
        _check_same(f"the table {noun.table}", view.table(noun), writing.table(noun))


def _check_same(
    what: str, source_values: Iterator[object], target_values: Iterator[object]
) -> None:
    for source_value, target_value in zip_longest(source_values, target_values, fillvalue=_MISSING):
        if source_value != target_value:
            raise _differs(what)


def _differs(what: str) -> StateDiffers:
    return StateDiffers(
        f"{what} would not be the same after the move; nothing was moved",
        hint="Run `counterpoint audit verify` and `audit rebuild` on the ledger you move from.",
    )
