"""Taking texts away: every use of them, and what only repeats them.

Rules: (1) Of a row goes every text that any entry ever gave to it, with what the facts of entries about it
have. (2) A copy goes too: a text that says the same, or has in it what is long enough to be no
chance. (3) An answer kept under an idempotency key stays, with a mark in place of what was taken away or of a
piece of it; nobody knows what the hash of a request was made of, so all of these go. (4) The plain hash
beside a text that goes, goes with it. (5) Rows, entries and proofs stay: what goes is texts and salts.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from counterpoint.core.ledger.entry import load_fields, referred
from counterpoint.core.ledger.lines import GONE, REDACTION
from counterpoint.core.model.documents import Document, Passage
from counterpoint.core.model.identity import Confirmation
from counterpoint.core.model.journal import Reply
from counterpoint.core.model.rows import Cell, Noun, Prose, columns, load_object
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.contributions import refuse_agent
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.erasing import SHORTEST, blotted, has_any, spellings
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

ANYWHERE = "*"
"""Stands for a row where a text is taken away wherever it is."""
_REPEATED = 40
"""Letters of a text of a row from which on whatever has it in it is taken for a copy."""
_HALF = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What was taken away: commitments, the words that are gone, how many kept answers were mended."""

    commitments: tuple[str, ...] = ()
    words: tuple[str, ...] = field(default=(), repr=False)
    replies: int = 0


class Erasing:
    """Verbs for taking texts away; only a person may."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of_row(self, noun: type[Noun], *key: Cell, reason: str) -> Erased:
        """Take away what a row says and ever said, and its copies; NotFound, Forbidden."""
        with self._recording() as change:
            if change.find(noun, *key) is None:
                raise missing(noun, *key)
            view = change.writing
            given = {one for one in _given(view, noun, key) if view.text(one) is not None}
            words = {text for one in given if (text := view.text(one))}
            given |= set(_signed(view, words))
            place = f"{noun.table}/{'/'.join(map(str, key))}"
            return self._erase(change, given, words, place, reason, _REPEATED)

    def of_text(self, text: str, *, reason: str) -> Erased:
        """Take a text away wherever it stands, in whatever; InvalidInput for a short one, Forbidden."""
        if len(text) < SHORTEST:
            raise InvalidInput(
                f"what is taken away everywhere has at least {SHORTEST} letters",
                hint="Give more of the text, or the id of what says it.",
            )
        with self._recording() as change:
            return self._erase(change, set(), {text}, ANYWHERE, reason, SHORTEST)

    def residue(self, words: Collection[str]) -> list[str]:
        """Return where words still stand in entries: in names, which no redaction takes away."""
        needles = {form.encode() for word in words for form in spellings(word)}
        with self._context.reading() as view:
            return [
                f"entry {place}"
                for place, data in enumerate(view.entries())
                if any(needle in data for needle in needles)
            ]

    def close(
        self, erased: Erased, *, cleaned: list[str], beyond: list[str], left: list[str]
    ) -> int:
        """Write down where it is gone and where it may still be; return the place of that entry."""
        with recording(self._context, "text.erased") as change:
            change.add_facts(texts=list(erased.commitments), replies=erased.replies)
            change.add_facts(cleaned=cleaned, beyond=beyond, left=left)
            return change.writing.head().size

    @contextmanager
    def _recording(self) -> Generator[Change]:
        with recording(self._context, REDACTION) as change:
            refuse_agent(change, "take texts away", Act.REDACT)
            yield change

    def _erase(
        self,
        change: Change,
        given: set[str],
        words: set[str],
        place: str,
        reason: str,
        least: int,
    ) -> Erased:
        view = change.writing
        if not words:
            return Erased()
        names = {half: kept.commitment for half, kept in view.texts()}
        gone = given | {
            kept.commitment for _, kept in view.texts() if has_any(kept.body, words, least)
        }
        replies = list(_mended(change, words, gone, names))
        gone |= set(_hashes_beside(view, {one[:_HALF] for one in gone}, names))
        if not gone and not replies:
            return Erased()
        # Every answer of before was made of who knows what: see the rules above.
        gone |= {names[row] for row in _cells(view, Reply, "request") if row in names}
        for reply in replies:
            change.put(reply)
        for text in filter(None, map(view.text, sorted(gone))):
            self._context.ports.sharing.forget(text)
        for commitment in sorted(gone):
            view.forget(commitment)
        change.add_facts(row=place)
        change.add_facts(**{GONE: sorted(gone)})
        change.add_texts(reason=str(blotted(reason, words)))
        return Erased(commitments=tuple(sorted(gone)), words=tuple(words), replies=len(replies))


def _given(view: Reading, noun: type[Noun], key: tuple[Cell, ...]) -> Iterator[str]:
    """Return the commitment of every text that an entry gave to a row, or a fact about it has."""
    mark, place = canonical.dump(key[-1]), dict(zip(noun.key[1:], key, strict=True))
    for data in view.entries():
        if mark not in data:
            continue
        entry = load_fields(data)
        for row in entry.get("r", ()):
            if row["t"] == noun.table and row["k"] == place:
                values: dict[str, Json] = row.get("v") or row.get("c") or {}
                yield from filter(None, map(referred, values.values()))
        if entry.get("s") == key[-1]:
            facts: dict[str, Json] = entry.get("f", {})
            yield from filter(None, map(referred, facts.values()))


def _signed(view: Reading, words: set[str]) -> Iterator[str]:
    """Return the commitments of the reasons that people signed with one of the words as text."""
    for one in view.select(Confirmation):
        if load_object(one.reason).get("text") in words:
            yield from _given(view, Confirmation, (one.id,))


def _mended(
    change: Change, words: set[str], gone: set[str], names: dict[str, str]
) -> Iterator[Reply]:
    """Return the kept answers that repeat what goes, without it; their texts go with the others."""
    halves = _cells(change.writing, Reply, "answer")
    there = zip(halves, change.select(Reply), strict=True)
    for half, reply in ((half, reply) for half, reply in there if half in names):
        answer = canonical.load(reply.answer)
        clean = blotted(answer, words)
        if clean != answer:
            gone.add(names[half])
            yield replace(reply, answer=Prose(canonical.dump_any(clean)))


def _cells(view: Reading, noun: type[Noun], name: str) -> list[str]:
    """Return what a prose column of every row holds, in the order of the key."""
    place = [column.name for column in columns(noun)].index(name)
    return [str(row[place]) for row in view.table(noun)]


def _hashes_beside(view: Reading, halves: set[str], names: dict[str, str]) -> Iterable[str]:
    """Return the commitments of plain hashes in the rows that hold a text which goes."""
    paths: set[tuple[Cell, Cell]] = set()
    for noun in view.tables.values():
        every = columns(noun)
        proses = [place for place, column in enumerate(every) if column.is_prose]
        hashes = [place for place in proses if every[place].sort == "hash"]
        if not hashes and noun is not Passage:
            continue
        for row in view.table(noun):
            if any(row[place] in halves for place in proses):
                yield from (names[str(row[p])] for p in hashes if row[p] in names)
                if noun is Passage:
                    paths.add((row[1], row[3]))
    for place, row in zip(_cells(view, Document, "sha256"), view.table(Document), strict=True):
        if (row[1], row[2]) in paths and place in names:
            yield names[place]
