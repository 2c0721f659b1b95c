"""Every noun of the core, in an order in which rows can be written.

A dialect of ours may have nouns of its own (`dialects/nouns.py`); whoever opens a store says which.
"""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.core.model.access import Token
from counterpoint.core.model.documents import Document, Passage
from counterpoint.core.model.identity import (
    Confirmation,
    Connection,
    Contribution,
    Key,
    Succession,
)
from counterpoint.core.model.journal import (
    Changeset,
    Outcome,
    Profile,
    Receipt,
    Record,
    Reply,
    StartPoint,
    StateEntry,
    Submission,
    Transition,
    Verdict,
)
from counterpoint.core.model.models.uses import KeptAnswer, ModelDay, ModelUse
from counterpoint.core.model.proofs import Seal, Thought
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.runs import Run, StreamEvent
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.trust.erasures import Erasure
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.model.work import (
    Alias,
    Area,
    Attribute,
    Criterion,
    Dependency,
    Ending,
    Gate,
    Item,
    Label,
    Project,
    Staging,
)
from counterpoint.kernel.matching.expressions import expression

NOUNS: tuple[type[Noun], ...] = (
    Project,
    Epoch,
    Connection,
    Key,
    Confirmation,
    Session,
    Staging,
    Ending,
    Item,
    Label,
    Dependency,
    Area,
    Criterion,
    Gate,
    Contribution,
    Succession,
    Claim,
    StartPoint,
    Outcome,
    Handoff,
    Record,
    Receipt,
    Submission,
    Changeset,
    Verdict,
    StateEntry,
    Profile,
    Reply,
    Token,
    Alias,
    Attribute,
    Thought,
    Seal,
    Transition,
    Run,
    StreamEvent,
    Document,
    Passage,
    Erasure,
    ModelUse,
    ModelDay,
    KeptAnswer,
)

OF_PLANS: tuple[type[Noun], ...] = (
    Label,
    Dependency,
    Area,
    Criterion,
    Gate,
    Contribution,
    Alias,
    Attribute,
)
"""What hangs on an item from its beginning on; each has a column `item`."""

_NUMBERED = expression(r".+-([a-z])[0-9]+")


def noun_of_id(name: str, others: Sequence[type[Noun]] = ()) -> type[Noun] | None:
    """Return what an id seems to name, from the letter before its number; None for an item.

    others: nouns of dialects that are known too.
    """
    if name.startswith("ses_"):
        return Session
    found = _NUMBERED.fullmatch(name)
    letter = found[1] if found else ""
    return next((one for one in (*NOUNS, *others) if letter and one.letter == letter), None)
