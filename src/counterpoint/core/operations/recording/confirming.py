"""Refusing what says to be a person's act and is not signed as one.

The rule is that of every later verification (core/ledger/people/confirmed.py), asked of the bytes that are about to be
appended. Beside it stands one that only the moment can tell: what was signed is of now, so that nobody puts a signature aside
and uses it when it suits him.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterpoint.core.model.identity import Confirmation, Doubt, Key
from counterpoint.core.model.trust.heads import RECOVERED
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import Conflict, Forbidden, StaleVersion

if TYPE_CHECKING:
    from counterpoint.core.ledger.people.confirmed import Ring
    from counterpoint.core.ledger.people.joint import Joint

LASTS_MS: Final = 600_000
"""How long a signature may be used."""
_AGAIN: Final = "Sign it again."
SERVED: Final = (
    "a Counterpoint server has started this for one of its callers, and nothing says for which"
)
"""Why that decides nothing, whoever signs."""


def ring_of(view: Reading) -> Ring:
    """Return the keys of people at the end of the ledger."""
    from counterpoint.core.ledger.people.confirmed import Ring

    ring = Ring()
    for key in view.select(Key):
        ring.known[key.id] = key.public_key
        if not key.is_in_force:
            ring.revoked.add(key.id)
    return ring


def refuse_used(
    view: Reading, confirmation: Confirmation, now: Timestamp, doubt: Doubt | None
) -> None:
    """Raise Conflict for a confirmation that stands in the ledger already, StaleVersion for an old one.

    Forbidden for any of who was started by a server.
    """
    from counterpoint.core.ledger.people.statement import Statement

    if doubt == "served":
        raise Forbidden(SERVED, hint="Do it in a terminal of your own.")
    if view.find(Confirmation, confirmation.id) is not None:
        raise Conflict("this confirmation was used before", hint=_AGAIN)
    if abs(elapsed_ms(Statement.from_text(confirmation.statement).time, now)) > LASTS_MS:
        raise StaleVersion("this was signed too long ago", hint=_AGAIN)


def refuse_unsigned(view: Reading, data: bytes) -> None:
    """Raise Forbidden if the bytes of an entry are no act of the person that they name."""
    # Loaded only for acts of people: most processes never see one.
    from counterpoint.core.ledger.entry import load_fields
    from counterpoint.core.ledger.people import sshsig
    from counterpoint.core.ledger.people.confirmed import entry_faults

    entry, size = load_fields(data), view.head().size

    def leaf_of(sequence: int) -> str:
        return view.node(0, sequence).hex() if 0 <= sequence < size else ""

    # What the entry itself writes is in the tables already.
    ring = _before(ring_of(view), entry["a"], entry.get("f", {}).get("key", ""))
    faults = [fault.message for fault in entry_faults(entry, ring, leaf_of, sshsig.verify)]
    if faults:
        raise Forbidden(
            f"no person signed this: {'; '.join(faults)}",
            hint="Look at it again and sign it again: it may have changed since.",
            faults=faults,
        )


JOINT_ACTIONS: Final = frozenset(
    (
        "proposal.made",
        "proposal.signed",
        "proposal.withdrawn",
        "quorum.changed",
        "reads.switched",
        "signers.changed",
    )
)
JOINT_TABLES: Final = frozenset(("epochs", "keys", "projects"))
"""What entries have that several people may have to sign; which of them must be is for joint.py to say."""


def proposal_of(confirmation: Confirmation) -> str:
    """Return the proposal that a person has signed an act of; empty without one."""
    from counterpoint.core.ledger.people.statement import Statement

    proposal = Statement.from_text(confirmation.statement).decision.get("proposal")
    return proposal if isinstance(proposal, str) else ""


def joint_of(view: Reading) -> Joint:
    """Return how many people must sign at the end of the ledger, and what waits for them."""
    from counterpoint.core.ledger.entry import load_fields
    from counterpoint.core.ledger.people.joint import READ, SIGNERS, Joint

    joint = Joint()
    is_asked = bool(view.sequences(action=SIGNERS, limit=1))
    # Before anybody asked for several, only the keys count.
    actions = READ if is_asked else ("key.enrolled", "key.recovered", "key.revoked")
    size = view.head().size
    places = [
        sequence
        for action in actions
        for sequence in view.sequences(action=action, limit=max(size, 1))
    ]
    for number in sorted(places):
        # What is wrong with them is for those who verify.
        list(joint.read(load_fields(next(view.entries(number, number + 1)))))
    return joint


def refuse_unjoined(view: Reading, data: bytes) -> None:
    """Raise Forbidden if the bytes of an entry take the signatures of more people than they have."""
    from counterpoint.core.ledger.entry import load_fields

    faults = list(joint_of(view).read(load_fields(data)))
    if faults:
        raise Forbidden(
            f"this {'; it '.join(faults)}",
            hint="Propose it at a terminal, by the same command; `counterpoint status` shows who has signed, and"
            " what the next person runs.",
            faults=faults,
        )


def _before(ring: Ring, action: str, key: str) -> Ring:
    from counterpoint.core.ledger.people.confirmed import ENROLLED, REVOKED

    if action in {ENROLLED, RECOVERED}:
        ring.known.pop(key, None)
    elif action == REVOKED:
        ring.revoked.discard(key)
    return ring
