"""One round for each seed: a change is made, and looked for without a witness and with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.store import Store
from counterpoint.core.ports.witnesses import Witness
from counterpoint.kernel.errors import CounterpointError
from fakes.seeding.kinds import IMPOSSIBLE
from fakes.studio import PROJECT, ROOT, Drawer, Studio, fixed_signer


@dataclass
class Changed:
    """A database after a change: how it was changed, and a head that was signed for it, if one was.

    store: of the server that was connected all the time; else `fault`: why it cannot be opened.
    """

    how: str
    note: str = ""
    store: Store | None = None
    fault: CounterpointError | None = None


class Field(Protocol):
    """Databases to change. witness: it keeps the last head, in a git ref of a repository elsewhere."""

    studio: Studio
    witness: Witness

    def kinds(self) -> tuple[str, ...]:
        """Answer the kinds of changes that can be made here, as often as they are drawn."""
        ...

    def changed(self, kind: str, random: Random) -> AbstractContextManager[Changed]:
        """Change a database; it is as it was before when the block ends."""
        ...

    def untouched(self) -> list[CounterpointError]:
        """Answer what is found in what nobody has changed."""
        ...


@dataclass(frozen=True)
class Tried:
    """One change: its kind, how it was done, and what was found without and with a witness."""

    seed: int
    kind: str
    how: str
    alone: list[CounterpointError]
    witnessed: list[CounterpointError]

    @property
    def escaped(self) -> str:
        """In words what nobody found; empty if it was found as it must be."""
        if not self.witnessed:
            return f"seed {self.seed}: {self.kind}: {self.how}: not found, not even with a witness"
        if not self.alone and self.kind not in IMPOSSIBLE:
            return f"seed {self.seed}: {self.kind}: {self.how}: not found without a witness"
        return ""


def tried(field: Field, seeds: range) -> Iterator[Tried]:
    """Change a database by each seed and verify it; what would change nothing is drawn anew."""
    for seed in seeds:
        random = Random(seed)
        found = None
        while found is None:
            kind = random.choice(field.kinds())
            with field.changed(kind, random) as changed:
                if changed.how:
                    alone = faults(field, changed)
                    witnessed = alone or faults(field, changed, witnessed=True)
                    found = Tried(seed, kind, changed.how, alone, witnessed)
        yield found


def faults(field: Field, changed: Changed, *, witnessed: bool = False) -> list[CounterpointError]:
    """Answer what a verification finds, with what stands beside the database, and with a witness or without."""
    if changed.store is None:
        assert changed.fault is not None
        return [changed.fault]
    ports = replace(
        field.studio.ports,
        store=changed.store,
        # Whoever has the database may have replaced the checkpoint beside it, and the signer is another machine's.
        anchors=Drawer({PROJECT: changed.note} if changed.note else {}),
        signer=fixed_signer(field.studio.clock),
        witnesses=lambda: (field.witness,) if witnessed else (),
    )
    caller = Caller(actor=Actor(kind="system", name="system"), root=ROOT)
    try:
        return list(Core(ports, caller).audit.verify().faults)
    except CounterpointError as fault:
        # Nothing can be looked at, and the answer says why.
        return [fault]
