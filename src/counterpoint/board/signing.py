"""Signing one act on the board: the passphrase posted with it unlocks the key, and is not kept.

What is signed is what the command signs: the same statement, of the ledger as it is now. Only a key under a passphrase signs here: an
SSH agent may sign without asking whoever sits there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from counterpoint.board.forms import Form
from counterpoint.board.sittings import Services
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import Forbidden


def judgment_of(form: Form, *, approves: bool) -> Judgment:
    """Return the verdict that a form gives; InvalidInput."""
    if approves:
        reason = form.text("reason") or "approved"
        return Judgment(approves=True, reason=reason, subject=form.text("subject"))
    reason = form.need("reason", "the reason")
    return Judgment(approves=False, reason=reason, fixes=form.lines("fixes"))


SIGNABLE: Final[Mapping[str, Callable[[Core, Item, Form], ProposedAct]]] = {
    "approve": lambda core, item, form: core.reviews.proposed(
        item.id, judgment_of(form, approves=True)
    ),
    "reject": lambda core, item, form: core.reviews.proposed(
        item.id, judgment_of(form, approves=False)
    ),
    "release": lambda core, item, _form: core.claims.proposed_release(item.id),
    "waive": lambda _core, item, form: _edited(item, {"waived": [form.text("gate")]}),
    "reopen": lambda _core, item, _form: _edited(
        item, {"moved": [item.status, item.reopened_status]}
    ),
}
"""What each act that can be signed decides."""


def _edited(item: Item, decision: Mapping[str, list[str]]) -> ProposedAct:
    return ProposedAct(
        action="item.edited",
        subject=item.id,
        decision={name: [*words] for name, words in decision.items()},
    )


def sign_act(
    core: Core, verb: str, item: Item, form: Form, services: Services, passphrase: str
) -> Core:
    """Return the core for one act as the person who signs it; Forbidden without a key or with a wrong passphrase."""
    propose = SIGNABLE.get(verb)
    key = services.find_key(core) if propose is not None else None
    if propose is None or key is None:
        raise Forbidden(
            "no key under a passphrase signs this here",
            hint="Type `counterpoint key add` in a terminal, or send it without a passphrase.",
        )
    reason = form.text("reason") or ("approved" if verb == "approve" else "")
    prepared = core.people.prepare(propose(core, item, form), key.id, reason)
    confirmation = core.people.sign(
        prepared, lambda message: key.sign(message, lambda _prompt: passphrase)
    )
    return services.confirm(confirmation)
