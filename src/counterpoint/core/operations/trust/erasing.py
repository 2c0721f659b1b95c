"""Taking texts away: every use of them, and what only repeats them.

Rules: (1) what goes is found beside the writers, and taken away in pieces, so that nobody waits for long. (2) The first
piece is the act of whoever asks; the others are what follows from it, done by the program. (3) Rows, entries and proofs stay:
what goes is texts and salts. (4) A receipt is begun with the first piece and ends when all that the program keeps
was searched. One that was cut off goes on in the next for the same place, so that it ends in one receipt. (5) Where words go
wherever they stand, the same place is the same words: until the end a hash of them is kept, as a text, which goes with the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.ledger.lines import GONE, REDACTION
from counterpoint.core.model.access import Actor
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.rows import Cell, Noun, columns
from counterpoint.core.model.trust.erasures import ANYWHERE, Erasure, ErasureState
from counterpoint.core.operations.recording.authority import refuse_agent
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Caller, Context, Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.trust.targets import Targets
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.erasing import SHORTEST, blot_words, spellings
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import dump_any, text_digest
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import agree

_ACT: Final = "take texts away", Act.REDACT
_REPEATED: Final = 40
"""Letters of a text of a row from which on whatever has it in it is taken for a copy."""
_MOST: Final = 400
"""Texts that one transaction takes away: each table that is searched is read once for them."""
Check = Callable[[Reading], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedTexts:
    """What was taken away: commitments, the words that are gone, how many kept answers went.

    receipt: id of the receipt that is begun; empty: nothing was there to be taken away.
    """

    receipt: str = ""
    commitments: tuple[str, ...] = ()
    words: tuple[str, ...] = field(default=(), repr=False)
    replies: int = 0


class Erasures(Verbs):
    """Verbs for taking texts away; only a person may."""

    def proposed_row(self, noun: type[Noun], *key: Cell) -> ProposedAct:
        """Return what taking the texts of a row away would decide, for a person to sign; NotFound."""
        return self._proposed(self._of_row(noun, *key), _place(noun, *key))

    def proposed_words(self, *words: str) -> ProposedAct:
        """Return what taking words away would decide, for a person to sign; InvalidInput for short ones."""
        return self._proposed(_of_words(*words), ANYWHERE)

    def _proposed(self, targets: Targets, row: str) -> ProposedAct:
        with self._context.reading() as view:
            targets.read(view)
        return ProposedAct(
            action=REDACTION,
            decision={"row": row},
            shown={"texts": f"{agree(targets.count, 'text', 'is')} taken away for good"},
        )

    def of_row(self, noun: type[Noun], *key: Cell, reason: str) -> ErasedTexts:
        """Take away what a row says and ever said, and its copies; NotFound, Forbidden."""
        return self._erase(self._of_row(noun, *key), _place(noun, *key), reason)

    def _of_row(self, noun: type[Noun], *key: Cell) -> Targets:
        with self._context.reading() as view:
            if view.find(noun, *key) is None:
                raise missing(noun, *key)
        return Targets(least=_REPEATED, row=(noun, key))

    def of_words(self, *words: str, reason: str) -> ErasedTexts:
        """Take words away wherever they stand, in whatever; InvalidInput for short ones, Forbidden."""
        sought = text_digest(dump_any(sorted({*words})))
        return self._erase(_of_words(*words), ANYWHERE, reason, sought)

    def of_texts(
        self, commitments: Collection[str], row: str, reason: str, check: Check | None = None
    ) -> ErasedTexts:
        """Take texts away by their commitments, and nothing that repeats them; Forbidden.

        check: raises unless they still may go, inside the transaction that takes the first away.
        """
        return self._erase(
            Targets(least=_REPEATED, commitments=commitments), row, reason, check=check
        )

    def refuse(self) -> None:
        """Raise Forbidden unless it is a person who would take texts away."""
        with recording(self._context, REDACTION) as change:
            refuse_agent(change, *_ACT)

    def list(self) -> list[Erasure]:
        """Return all receipts, in order."""
        with self._context.reading() as view:
            return view.select(Erasure, order="number")

    def residue(self, words: Collection[str], project: str = "") -> list[str]:
        """Return where words still stand: in texts that were written again, and in names, which stay.

        project: another one of the database.
        """
        needles = [form for word in words for form in spellings(word)]
        raw = [needle.encode() for needle in needles]
        places_found: dict[str, None] = {}
        with self._context.ports.store.reading(project or self._context.project) as view:
            if any(needle in text.body for _, text in view.texts() for needle in needles):
                places_found["texts that were written since"] = None
            for noun in view.tables.values():
                text_columns = [
                    (at, column.name)
                    for at, column in enumerate(columns(noun))
                    if column.sort in {"text", "list"}
                ]
                for row in view.table(noun):
                    for at, name in text_columns:
                        if any(needle in str(row[at]) for needle in needles):
                            places_found[f"{noun.table}.{name}"] = None
            entries = [
                sequence
                for sequence, data in enumerate(view.entries())
                if any(needle in data for needle in raw)
            ]
        return [*places_found, *(f"entry {sequence}" for sequence in entries)]

    def close(
        self,
        erased: ErasedTexts,
        *,
        looked_for: int,
        cleaned: Collection[str],
        beyond: Collection[str],
        remains: Collection[str],
    ) -> tuple[Erasure, int]:
        """End a receipt: where it is gone and where it may still be; return it, and its entry's place."""
        with transaction(self._context):
            with recording(self._context, "text.erased", erased.receipt) as change:
                ended = replace(
                    change.get(Erasure, erased.receipt),
                    status=_status(looked_for, remains),
                    looked_for=looked_for,
                    cleaned=tuple(cleaned),
                    beyond=tuple(beyond),
                    left=tuple(remains),
                    ended_at=change.now,
                )
                change.put(ended)
                change.add_facts(texts=ended.texts, left=len(ended.left))
                sequence = change.writing.head().size
            if ended.sought:
                with recording(self._context, REDACTION) as change:
                    _forget(change, [ended.sought], ended.id)
        return ended, sequence

    def _erase(
        self,
        targets: Targets,
        row: str,
        reason: str,
        sought: str = "",
        check: Check | None = None,
    ) -> ErasedTexts:
        with self._context.reading() as view:
            targets.read(view, goes_on=_cut_off(view, row, sought) is not None)
        gone: list[str] = []
        with recording(self._context, REDACTION) as change:
            refuse_agent(change, *_ACT)
            if check is not None:
                check(change.writing)
            receipt = self._begin(change, targets, row, sought)
            if receipt is None:
                return ErasedTexts(words=tuple(targets.words))
            gone += _take(change, targets, receipt)
            change.add_facts(row=row)
            change.add_texts(reason=str(blot_words(reason, targets.words)))
        program = Caller(
            actor=Actor(kind="system", name="counterpoint"), root=self._context.caller.root
        )
        following = Context(ports=self._context.ports, caller=program)
        while not targets.is_empty:
            with recording(following, REDACTION) as change:
                targets.follow(change.writing)
                gone += _take(change, targets, change.get(Erasure, receipt.id))
        return ErasedTexts(
            receipt=receipt.id,
            commitments=tuple(sorted(gone)),
            words=tuple(targets.words),
            replies=targets.replies,
        )

    def _begin(self, change: Change, targets: Targets, row: str, sought: str) -> Erasure | None:
        """Return the receipt that this goes into; None if nothing is to go, and none was cut off."""
        targets.follow(change.writing)
        cut_off = _cut_off(change.writing, row, sought)
        if cut_off is not None:
            return replace(change.get(Erasure, cut_off.id), tries=cut_off.tries + 1)
        if targets.is_empty:
            return None
        number, name = change.next_id(Erasure)
        change.add_texts(sought=sought)
        return Erasure(
            project=self._context.project,
            id=name,
            number=number,
            place=row,
            sought=change.commit(sought) if sought else "",
            agent=self._context.caller.actor.name,
            begun_at=change.now,
        )


def _place(noun: type[Noun], *key: Cell) -> str:
    return f"{noun.table}/{'/'.join(map(str, key))}"


def _of_words(*words: str) -> Targets:
    if min(map(len, words)) < SHORTEST:
        raise InvalidInput(
            f"what is taken away everywhere has at least {SHORTEST} letters",
            hint="Give more of the text, or the id of what says it.",
        )
    return Targets(least=SHORTEST, words=words)


def _cut_off(view: Reading, row: str, sought: str) -> Erasure | None:
    """Return the receipt that was begun for the same, and not ended; None if there is none."""
    begun = view.select(Erasure, place=row, status="begun", order="number desc")
    same = (erasure for erasure in begun if not sought or view.text(erasure.sought) == sought)
    return next(same, None)


def _status(looked_for: int, remains: Collection[str]) -> ErasureState:
    if remains:
        return "left"
    return "clean" if looked_for else "unsearched"


def _take(change: Change, targets: Targets, receipt: Erasure) -> list[str]:
    """Take the next texts away and count them in the receipt; return them."""
    taken = targets.take(change.writing, _MOST)
    _forget(change, taken, receipt.id)
    change.put(replace(receipt, texts=receipt.texts + len(taken)))
    return taken


def _forget(change: Change, texts: Collection[str], receipt: str) -> None:
    change.writing.forget(texts)
    change.context.ports.sharing.forget(texts)
    change.add_facts(erasure=receipt, **{GONE: sorted(texts)})
