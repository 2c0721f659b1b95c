"""Acts of people: each is one form, one verb of the core, and an entry of the caller.

Rules: (1) a form names what its page showed: the version of the item, the last entry of the ledger, and for an approval the
hash or commit. Where others have changed that since, nothing is done, and the answer shows what they did (StaleVersion). (2) No act
is judged here: who may do it, and when, the core decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.board.remarks import line_note
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.filters import Judgment, Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound, StaleVersion

MAX_SHOWN: Final = 20
_NUMBER_DIGITS: Final = 15


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an act. subject: the id that the path names."""

    subject: str
    fields: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a text; empty without one."""
        return self.fields.get(name, "").replace("\r\n", "\n").strip()

    def number(self, name: str) -> int:
        """Return a number; InvalidInput."""
        digits = self.fields.get(name, "")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _NUMBER_DIGITS):
            raise InvalidInput(
                "the form does not say what its page showed", hint="Load the page again."
            )
        return int(digits)

    def need(self, name: str, what: str) -> str:
        """Return a text that must be there; InvalidInput."""
        if not (words := self.text(name)):
            raise InvalidInput(f"{what} is missing", hint="Go back, say it, and send it again.")
        return words


def approve(core: Core, item: Item, form: Form) -> None:
    """Approve what the page showed."""
    reason = form.text("reason") or "approved"
    core.reviews.review(
        item.id, Judgment(approves=True, reason=reason, subject=form.text("subject"))
    )


def reject(core: Core, item: Item, form: Form) -> None:
    """Send work back, each line of `fixes` as one thing to mend."""
    fixes = tuple(line.strip() for line in form.text("fixes").split("\n") if line.strip())
    reason = form.need("reason", "the reason")
    core.reviews.review(item.id, Judgment(approves=False, reason=reason, fixes=fixes))


def comment(core: Core, item: Item, form: Form) -> None:
    """Write a comment down; with a file in the form one on a line of it."""
    body = form.need("reason", "the comment")
    if form.text("file"):
        core.journal.append(line_note(item.id, body, form.fields, form.number("line")))
    else:
        core.journal.append(Note(kind="comment", body=body, item=item.id))


def unblock(core: Core, item: Item, form: Form) -> None:
    """Resolve the open blockers of an item."""
    reason = form.need("reason", "how it was resolved")
    records: list[Record] = core.overview.open_blockers(item.id)
    if not records:
        raise NotFound(f"{item.id} has no open blocker", hint="Somebody else has resolved it.")
    for record in records:
        core.journal.resolve(record.id, reason)


def release(core: Core, item: Item, form: Form) -> None:
    """Free an item that somebody holds, for others."""
    core.claims.release(item.id, form.text("reason"))


ACTS: Final[Mapping[str, Callable[[Core, Item, Form], None]]] = {
    "approve": approve,
    "reject": reject,
    "comment": comment,
    "unblock": unblock,
    "release": release,
}
_UNBOUND: Final = frozenset({"comment"})
"""Acts that are as right after a change of others as before."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an act: the item after it, or why it was refused, with what others did meanwhile."""

    item: Item
    fault: CounterpointError | None = None
    entries: tuple[Entry, ...] = ()


def perform(core: Core, verb: str, form: Form) -> Acted:
    """Do an act; NotFound for an act or an item that there is not. What refuses the act is in the answer."""
    item = core.items.named(form.subject)
    act = ACTS.get(verb)
    if item is None or act is None:
        raise NotFound(
            f"there is no {'act' if item else 'item'} of this name", hint="Load the page again."
        )
    try:
        if verb not in _UNBOUND and item.version != form.number("version"):
            raise StaleVersion(
                f"{item.id} was changed by others since the page was loaded",
                hint="Look at it again, then decide.",
            )
        act(core, item, form)
    except CounterpointError as fault:
        seen = form.fields.get("seen", "")
        is_known = seen.isascii() and seen.isdigit() and len(seen) <= _NUMBER_DIGITS
        entries = core.audit.log(after=int(seen) - 1, limit=MAX_SHOWN) if is_known else []
        return Acted(item, fault, tuple(entries))
    return Acted(core.items.get(item.id))
