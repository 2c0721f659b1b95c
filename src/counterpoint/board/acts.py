"""Acts of people: each is one form, one verb of the core, and an entry of the caller.

Rules: (1) a form names what its page showed: the version of the item, the last entry of the ledger, and for an approval the
hash or commit. Where others have changed that since, nothing is done, and the answer shows what they did (StaleVersion). (2) No act
is judged here: who may do it, and when, the core decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.board.drafting import add_item, bring_import, make_plan
from counterpoint.board.editing import edit_item
from counterpoint.board.forms import Form, read_number
from counterpoint.board.remarks import line_note
from counterpoint.board.signing import judgment_of, sign_act
from counterpoint.board.sittings import Services
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import CounterpointError, NotFound, StaleVersion

MAX_SHOWN: Final = 20


def approve(core: Core, item: Item, form: Form) -> None:
    """Approve what the page showed."""
    core.reviews.review(item.id, judgment_of(form, approves=True))


def reject(core: Core, item: Item, form: Form) -> None:
    """Send work back, each line of `fixes` as one thing to mend."""
    core.reviews.review(item.id, judgment_of(form, approves=False))


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


def waive(core: Core, item: Item, form: Form) -> None:
    """Open a gate that is not met."""
    reason, gate = form.need("reason", "the reason"), form.need("gate", "the gate")
    core.items.edit(item.id, Edit(waive=(gate,), reason=reason))


def submit(core: Core, item: Item, form: Form) -> None:
    """Hand in a whole whose work is done."""
    summary = form.need("summary", "what was done")
    core.reviews.submit(item.id, form.text("path"), summary, None, form.text("reason"))


def cancel(core: Core, item: Item, form: Form) -> None:
    """Give work up."""
    core.items.edit(item.id, Edit(status="cancelled", reason=form.need("reason", "the reason")))


def reopen(core: Core, item: Item, form: Form) -> None:
    """Open work that has ended."""
    core.items.edit(item.id, Edit(status=item.reopened_status, reason=form.text("reason")))


def move(core: Core, item: Item, form: Form) -> None:
    """Move an item into another state, on somebody's word."""
    edit = Edit(status=form.need("status", "where to"), reason=form.text("reason"))
    core.items.edit(item.id, edit)


ACTS: Final[Mapping[str, Callable[[Core, Item, Form], None]]] = {
    "approve": approve,
    "reject": reject,
    "comment": comment,
    "unblock": unblock,
    "release": release,
    "edit": edit_item,
    "waive": waive,
    "submit": submit,
    "cancel": cancel,
    "reopen": reopen,
    "move": move,
}
_UNBOUND: Final = frozenset({"comment"})
"""Acts that are as right after a change of others as before."""
_NEW: Final[Mapping[str, Callable[[Core, Form, Services], Item]]] = {
    "add": add_item,
    "plan": make_plan,
    "import": bring_import,
}
"""Acts that make what they are of."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an act: the item after it, if there is one, or why it was refused, with what others did meanwhile."""

    item: Item | None
    fault: CounterpointError | None = None
    entries: tuple[Entry, ...] = ()


def perform(core: Core, verb: str, form: Form, services: Services, passphrase: str = "") -> Acted:
    """Do an act; NotFound for an act or an item that there is not. What refuses the act is in the answer.

    passphrase: of the key that signs it; empty for an act that nobody signs.
    """
    item = core.items.named(form.subject) if form.subject else None
    create = _NEW.get(verb) if not form.subject else None
    if create is None and (item is None or verb not in ACTS):
        raise NotFound(
            f"there is no {'act' if item else 'item'} of this name", hint="Load the page again."
        )
    try:
        if create is not None:
            return Acted(create(core, form, services))
        if item is not None:
            _refuse_stale(verb, item, form)
            signed = sign_act(core, verb, item, form, services, passphrase) if passphrase else core
            ACTS[verb](signed, item, form)
            item = core.items.get(item.id)
    except CounterpointError as fault:
        seen = read_number(form.fields.get("seen", ""))
        entries = core.audit.log(after=seen - 1, limit=MAX_SHOWN) if seen is not None else []
        return Acted(item, fault, tuple(entries))
    return Acted(item)


def _refuse_stale(verb: str, item: Item, form: Form) -> None:
    """Raise StaleVersion for an item that is not as its page showed it."""
    if verb not in _UNBOUND and item.version != form.number("version"):
        raise StaleVersion(
            f"{item.id} was changed by others since the page was loaded",
            hint="Look at it again, then decide.",
        )
