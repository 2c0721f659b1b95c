"""Whether a ledger goes on from what was signed of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from counterpoint.core.ledger.merkle import frontier_at
from counterpoint.core.model.trust.heads import FIRST_EPOCH, Epoch, SignedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import ForkRefused, Unavailable
from counterpoint.kernel.plurals import counted


def last_epoch(view: Reading) -> int:
    """Return the number of the last epoch that a ledger tells of."""
    epochs = view.select(Epoch, order="number desc", limit=1)
    return epochs[0].number if epochs else FIRST_EPOCH


def refuse_fork(view: Reading, signed: SignedHead) -> None:
    """Pass if a ledger extends a head that was signed; ForkRefused."""
    head = view.head()
    if last_epoch(view) != signed.epoch:
        raise ForkRefused(
            f"the ledger tells of epoch {last_epoch(view)}, but epoch {signed.epoch} was signed"
        )
    if head.size < signed.size:
        raise ForkRefused(
            f"the ledger has {counted(head.size, 'entry')}, but {signed.size:,} were signed: it was cut off, or"
            " an older copy is in its place",
            signed=signed.size,
        )
    if frontier_at(signed.size, view.node).root() != signed.root:
        raise ForkRefused(
            f"the first {signed.size} entries are not those that were signed",
            signed=signed.size,
        )


@dataclass(slots=True)
class _Compared:
    """The ledgers that went on from what was signed of them when this process looked: another file in the place ends it (opened.py)."""

    ledgers: set[str] = field(default_factory=set[str])


def find_cut_off(context: Context, view: Reading) -> ForkRefused | None:
    """Return the refusal of a ledger that does not go on from what the signer of this account has signed of it, if it does not.

    What was taken back in it, as a token, would count again.
    """
    project, compared = view.find(Project), context.ports.remember(_Compared).ledgers
    if project is None or project.ledger in compared:
        return None
    try:
        if (signed := context.ports.signer.last(project.ledger)) is not None:
            try:
                refuse_fork(view, signed)
            except ForkRefused:
                # It may have been signed since this view was opened.
                with context.ports.store.reading(context.project) as later:
                    refuse_fork(later, signed)
        compared.add(project.ledger)
    except ForkRefused as fault:
        return fault
    except Unavailable:
        pass
    return None
