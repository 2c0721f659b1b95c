"""Moving ledgers between databases: from a file to a server and back.

Each of FROM and TO is a path or `postgresql://…`. A project has moved if and only if (1) its ledger
verified and was the same as its tables where it was, (2) it could be copied whole into a database
that did not have it, (3) it verifies there too, with the same root. What it was copied from stays to be looked at, says where
it went and takes no entry any more: two that go on would be two histories. A move that was cut off before that is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.context import open_here
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.output import Output, output_for
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.merkle import Frontier
from counterpoint.core.model.access import Actor
from counterpoint.core.operations.recording.context import Caller, Ports
from counterpoint.core.rules.trust.moved import moved_fault
from counterpoint.evidence.directories import FileAnchors
from counterpoint.kernel.errors import Conflict, InvalidInput, LedgerBroken, NotFound
from counterpoint.kernel.places import state_folder
from counterpoint.kernel.plurals import agree, counted
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.storage.move import Moved, move_project

_MOVER: Final = Actor(kind="system", name="counterpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedProject:
    """A project that has moved, and whether entries were appended where it was meanwhile."""

    moved: Moved
    late: int


@click.group("storage", cls=Group)
def storage_command() -> None:
    """Move ledgers between databases."""


@storage_command.command(
    "move",
    epilog=examples(
        "counterpoint storage move .counterpoint/ledger.db postgresql://ann@host/ledgers"
    ),
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--project", metavar="NAME", help="Only this project.  [default: all of them]")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def move_command(source: str, target: str, project: str | None, as_json: bool) -> None:
    """Copy ledgers into another database and verify them on both sides.

    Each ledger is copied whole or not at all. The old copy in FROM stays readable, but accepts no new entries. Stop
    agents and servers first, and point them to TO afterwards.
    """
    out = output_for(json=as_json)
    source_app, target_app = open_here(db=source), open_here(db=target)
    if source_app.database == target_app.database:
        raise InvalidInput("FROM and TO are the same database", hint="Name another one as TO.")
    try:
        source_app.require()
        if find_rendezvous(source_app.database).ask("status") is not None:
            raise Conflict(
                f"a server has {source_app.place} open, and would go on writing there",
                hint="End it with `counterpoint down`, and move then.",
            )
        names = _names(source_app, project)
        source_app.record_copy("command storage move")
        arrivals = [_move(out, source_app, target_app, name) for name in names]
    finally:
        source_app.close()
        target_app.close()
    _print(out, source_app, target_app, arrivals)


def _names(source: App, name: str | None) -> list[str]:
    names = [project.project for project in source.store.projects()]
    if name is not None and name not in names:
        raise NotFound(
            f"{source.place} has no project {name!r}",
            hint=f"Name one that it has: {', '.join(sorted(names)) or 'it has none'}.",
        )
    return names if name is None else [name]


def _move(out: Output, source: App, target: App, project: str) -> MovedProject:
    """Verify a project, copy it, verify the copy; LedgerBroken if a side does not hold."""
    sat = App(
        settings=replace(source.settings, project=project),
        places=source.places,
        environ=source.environ,
        clock=source.clock,
        only_looks=True,
        is_from_anywhere=True,
    )
    sat.share(source)
    ports = sat.ports
    with source.store.reading(project) as view:
        if location := view.moved():
            raise moved_fault(project, location)
    _verify(out, ports, source.place)
    with out.counting(f"Moving {project}") as count:
        moved = _moved_before(source, target, project) or move_project(
            source.store, target.store, project, count
        )
    arrived = replace(ports, store=target.store, anchors=FileAnchors(folder=target.checkpoints))
    if note := ports.anchors.last(project):
        arrived.anchors.keep(project, note)
    root = _verify(out, arrived, target.place)
    if root != moved.root:
        raise LedgerBroken(f"{project!r} has another root in {target.place}")
    with source.store.writing(project) as writing:
        late = writing.head().size - moved.size
        if not late:
            # From here on there is one that goes on, whatever comes of this process.
            writing.leave(target.place, source.clock.now())
    if not late and source.trusted_place and target.trusted_place:
        [carried] = (row for row in source.store.projects() if row.project == project)
        target.trusted_place.carry(source.trusted_place, carried)
    return MovedProject(moved=moved, late=late)


def _moved_before(source: App, target: App, project: str) -> Moved | None:
    """Return what was moved if all of it is there already: a move was cut off before it was told here."""
    with source.store.reading(project) as view, target.store.reading(project) as arrived:
        head = view.head()
        if not head.size or head != arrived.head():
            return None
        root = Frontier.from_bytes(head.frontier).root().hex()
        return Moved(
            project=project, size=head.size, root=root, texts=sum(1 for _ in arrived.texts())
        )


def _verify(out: Output, ports: Ports, address: str) -> str:
    """Return the root of a ledger that verifies and whose tables are what it says."""
    verbs = Core(ports, Caller(actor=_MOVER, root=Path())).audit
    with out.counting(f"Verifying {ports.project} in {address}") as count:
        audit = verbs.verify(progress=count)
        faults = audit.faults
    if faults:
        raise LedgerBroken(
            f"{ports.project!r} does not verify in {address}: {faults[0].message}",
            hint="Run `counterpoint audit verify` and `counterpoint audit rebuild` there.",
        )
    return audit.root


def _of_the_key(source: App) -> str:
    """Say where what signs stays: nothing of it lies beside a database."""
    if source.settings.signer.startswith("command:"):
        return "The key stays with the program that signs."
    state = state_folder(source.environ)
    return (
        f"The key, and what was signed, stay with the signer of this account, in {state}/signer."
        " Another machine that is to sign needs that folder, or a person opens an epoch there."
    )


def _print(out: Output, source: App, target: App, arrivals: list[MovedProject]) -> None:
    if out.json:
        out.answer(
            {
                "from": source.place,
                "to": target.place,
                "projects": [
                    {
                        "project": arrival.moved.project,
                        "size": arrival.moved.size,
                        "root": arrival.moved.root,
                        "texts": arrival.moved.texts,
                        "appended_meanwhile": arrival.late,
                    }
                    for arrival in arrivals
                ],
            }
        )
        return
    for moved_project in arrivals:
        moved = moved_project.moved
        out.line(
            f"Moved {moved.project}: {counted(moved.size, 'entry')}, {counted(moved.texts, 'text')}, verified."
        )
        out.line(f"  root  {moved.root}")
        if moved_project.late:
            out.aside(
                f"{agree(moved_project.late, 'entry', 'was')} appended to {source.place} meanwhile, so that it goes on there:"
                f" end what writes to it, take {moved.project} away from {target.place}, and move again."
            )
    if not arrivals:
        out.line(f"{source.place} has no project to move.")
    else:
        out.aside(_of_the_key(source))
