"""Proving: verify the ledger, seal checkpoints, prove entries, replay everything.

What `verify` finds: any edit, removal, insertion or swap of entries (chain); any rewrite or truncation
back to the last anchored checkpoint (tree); a head or an edge of the stored tree that is not that of
the entries; thoughts and seals that are not sound (see core.ledger.trail); a text that is not what
its digest says, or that is missing though no redaction took it away. What `rebuild` finds: any table
that is not the fold of the ledger, down to the cell, and any hash of the tree that is not that of the
entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.blocks import load_entries
from counterpoint.core.ledger.bundle import BundleHeader, dump_bundle
from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.derived import Origin, expand, expand_change, filled, rules
from counterpoint.core.ledger.entry import GENESIS, Entry, RowImage, origin_of_fields
from counterpoint.core.ledger.merkle import (
    Frontier,
    Node,
    consistency_proof,
    frontier_at,
    inclusion_proof,
    leaf_hash,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.trail import Trail
from counterpoint.core.model.answers import Audit, Proof, Rebuilt
from counterpoint.core.model.rows import Noun, columns
from counterpoint.core.operations.journal import redactions
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    ChainBroken,
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    ProofMismatch,
    StateDiffers,
)

_DIFFERENCES_SHOWN = 20
_COUNTED_EVERY = 5000
_LEAVES = 1024
MOST_REMEMBERED: Final = 50_000
"""Rows of which a replay remembers what changes of them leave out."""


class Auditing:
    """Verbs for proving."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def key(self) -> VerifierKey:
        """The public key that this project's checkpoints are signed with."""
        return VerifierKey(
            name=f"counterpoint/{self._context.project}",
            public_key=self._context.ports.signer.public_key,
        )

    def verify(
        self, notes: tuple[str, ...] = (), progress: Callable[[int], None] | None = None
    ) -> Audit:
        """Check the whole ledger against itself, the anchor, and given checkpoints.

        A sound ledger is anchored anew at its present size. progress: called with how many entries
        are read.
        """
        anchors = self._context.ports.anchors
        faults: list[CounterpointError] = []
        known = [*notes, *filter(None, [anchors.last(self._context.project)])]
        sealed = list(filter(None, (self._open(note, faults) for note in known)))
        with self._context.reading() as view:
            entries = view.entries()
            read = _counted(entries, progress) if progress else entries
            audit = self._verify(view, read, sealed, faults)
        # An anchor of a ledger that is not sound would vouch for what was done to it.
        if audit.sound and audit.size:
            anchors.keep(self._context.project, self._seal(audit.size, bytes.fromhex(audit.root)))
        return audit

    def _open(self, note: str, faults: list[CounterpointError]) -> Checkpoint | None:
        try:
            return checkpoints.verify(note, self.key)
        except CounterpointError as fault:
            faults.append(fault)
            return None

    def _verify(
        self,
        view: Reading,
        entries: Iterator[bytes],
        sealed: list[Checkpoint],
        faults: list[CounterpointError],
    ) -> Audit:
        head = view.head()
        trail = Trail(self.key)
        verification = Verification(self._context.project, checkpoints=sealed, watch=trail.read)
        verification.read(entries)
        verification.close(head.size)
        faults += (*verification.faults, *trail.faults)
        root, last = b"", GENESIS
        if not verification.faults:
            verified = verification.verified()
            root, last = verified.root, verified.last
            faults += _head_faults(view, root, last)
        redacted, text_faults = _texts(view)
        faults += text_faults
        return Audit(
            project=self._context.project,
            size=verification.size,
            root=root.hex(),
            last=last,
            anchored=max((one.size for one in sealed), default=0),
            redacted=redacted,
            faults=tuple(faults),
        )

    def checkpoint(self) -> str:
        """Return the present end of the ledger as a signed note, and anchor it."""
        with self._context.reading() as view:
            head = view.head()
        note = self._seal(head.size, Frontier.from_bytes(head.frontier).root())
        self._context.ports.anchors.keep(self._context.project, note)
        return note

    def _seal(self, size: int, root: bytes) -> str:
        sealed = Checkpoint(origin=self.key.name, size=size, root=root)
        return checkpoints.seal(sealed, self._context.ports.signer.sign, self.key)

    def inclusion(self, sequence: int, size: int | None = None) -> Proof:
        """Return the proof that an entry is in the ledger of a size; InvalidInput."""
        with self._context.reading() as view:
            end = self._size(view, size)
            path = inclusion_proof(sequence, end, view.node)
            root = frontier_at(end, view.node).root()
            entry = next(view.entries(sequence, sequence + 1))
            leaf = view.node(0, sequence)
        return Proof(
            size=end,
            root=root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=self._seal(end, root),
            sequence=sequence,
            leaf=leaf.hex(),
            entry=entry.decode(),
        )

    def consistency(self, first: int, second: int | None = None) -> Proof:
        """Return the proof that the ledger of one size begins with that of another."""
        with self._context.reading() as view:
            end = self._size(view, second)
            path = consistency_proof(first, end, view.node)
            root = frontier_at(end, view.node).root()
            before = frontier_at(first, view.node).root()
        return Proof(
            size=end,
            root=root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=self._seal(end, root),
            first_size=first,
            first_root=before.hex(),
        )

    def _size(self, view: Reading, size: int | None) -> int:
        head = view.head().size
        if size is not None and not 0 <= size <= head:
            raise InvalidInput(f"the ledger has {head} entries, not {size}", size=head)
        return head if size is None else size

    def export(self) -> Iterator[bytes]:
        """Return the lines of a bundle that verifies offline, with a checkpoint of its end."""
        with self._context.reading() as view:
            head = view.head()
            header = BundleHeader(
                project=self._context.project,
                key=self.key,
                checkpoint=self._seal(head.size, Frontier.from_bytes(head.frontier).root()),
            )
            texts = (body for _, body in view.texts())
            yield from dump_bundle(header, view.entries(0, head.size), texts)

    def rebuild(self) -> Rebuilt:
        """Replay the ledger into an empty store and compare every table, cell by cell."""
        scratch = self._context.ports.scratch()
        try:
            with self._context.reading() as view:
                with scratch.writing(self._context.project) as writing:
                    size = replay(view.entries(), writing)
                return self._compare(view, scratch, size)
        finally:
            scratch.close()

    def _compare(self, view: Reading, scratch: Store, size: int) -> Rebuilt:
        rows: dict[str, int] = {}
        differences: list[StateDiffers] = []
        with scratch.reading(self._context.project) as replayed:
            for noun in view.tables.values():
                count, found = _compare_table(noun, view, replayed)
                rows[noun.table] = count
                differences += found
        differences += _compare_tree(view)
        return Rebuilt(size=size, rows=rows, differences=tuple(differences))

    def entry(self, sequence: int) -> Entry:
        """Return one entry, with what its rows leave out; InvalidInput if the ledger is not so long."""
        with self._context.reading() as view:
            head = view.head().size
            if not 0 <= sequence < head:
                raise InvalidInput(f"the ledger of {head} entries has no entry {sequence}")
            entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
            rows = tuple(
                _filled(image, view.tables.get(image.table), entry.origin) for image in entry.rows
            )
            return replace(entry, rows=rows)

    def log(
        self,
        *,
        subject: str = "",
        action: str = "",
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> list[Entry]:
        """Return entries that match: the latest first, or with `after` onward from there."""
        with self._context.reading() as view:
            found = view.sequences(
                subject=subject, action=action, before=before, after=after, limit=limit
            )
            return [Entry.from_bytes(next(view.entries(place, place + 1))) for place in found]


def _counted(entries: Iterator[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    """Return entries as they come; say now and then how many there were."""
    for count, entry in enumerate(entries, 1):
        if count % _COUNTED_EVERY == 1:
            progress(count)
        yield entry


def replay(entries: Iterator[bytes], writing: Writing) -> int:
    """Fold entries into the tables of an empty store; answer how many there were."""
    fold, many = Fold(writing), 0
    for fields in load_entries(entries):
        fold.apply(fields)
        many += 1
    return many


class Fold:
    """Applies the rows of entries, one entry after the other, to tables that begin empty.

    A change leaves out what follows from the row before it: of the rows written last that much is
    remembered, so that it is not read again for each change.
    """

    def __init__(self, writing: Writing) -> None:
        """Write in a transaction."""
        self._writing = writing
        self._before: dict[tuple[str, tuple[Any, ...]], dict[str, Json]] = {}

    def apply(self, fields: Mapping[str, Any]) -> None:
        """Write what the rows of an entry, as its short keys, say; ChainBroken, StateDiffers."""
        origin = origin_of_fields(fields)
        for image in fields.get("r", ()):
            noun = self._writing.tables.get(image["t"])
            if noun is None:
                raise ChainBroken(f"an entry writes to a table {image['t']!r} that there is not")
            if "c" in image:
                self._change(noun, image, origin)
            elif image["v"] is None:
                self._before.pop(_place(noun, image["k"]), None)
                self._writing.drop(noun, image["k"])
            else:
                row = expand(noun, image["k"], _plain(image["v"]), origin)
                self._remember(noun, image["k"], row)
                self._writing.put(noun, {"project": self._writing.project, **row})

    def _change(self, noun: type[Noun], image: Mapping[str, Any], origin: Origin) -> None:
        key: Mapping[str, Any] = image["k"]
        before = None
        if ruled := rules(noun, whole=False):
            before = self._before.get(_place(noun, key))
            if before is None and (found := self._writing.find(noun, *_place(noun, key)[1])):
                before = {name: getattr(found, name) for name, _ in ruled}
        changed = expand_change(noun, before, _plain(image["c"]), origin)
        if before is not None:
            self._remember(noun, key, {**before, **changed})
        self._writing.change(noun, key, changed)

    def _remember(self, noun: type[Noun], key: Mapping[str, Any], row: Mapping[str, Json]) -> None:
        """Keep what a change may leave out; the row that was written longest ago makes room."""
        if ruled := rules(noun, whole=False):
            place = _place(noun, key)
            # Taken out first, so that it goes to the end: a dictionary keeps the order of
            # insertion.
            self._before.pop(place, None)
            self._before[place] = {name: row[name] for name, _ in ruled}
            if len(self._before) > MOST_REMEMBERED:
                del self._before[next(iter(self._before))]


def _place(noun: type[Noun], key: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    return noun.table, tuple(key.get(name) for name in noun.key[1:])


def _filled(image: RowImage, noun: type[Noun] | None, origin: Origin) -> RowImage:
    """Return a row image with the columns that it leaves out; as it is if the table is unknown."""
    if noun is None:
        return image
    return replace(image, values=filled(noun, image.key, image.values, origin, whole=image.whole))


def _plain(columns: Mapping[str, Any]) -> dict[str, Json]:
    """Return columns with the digest of each text that they refer to in place of the reference."""
    return {
        name: value["$text"] if type(value) is dict else value for name, value in columns.items()
    }


def _head_faults(view: Reading, root: bytes, last: str) -> list[LedgerBroken]:
    head = view.head()
    faults: list[LedgerBroken] = []
    if (head.leaf or GENESIS) != last:
        faults.append(ChainBroken("the head does not name the last entry of the ledger"))
    # The root is stored in two ways: as the edge that appends go on from, and as nodes for proofs.
    if _root_of(lambda: Frontier.from_bytes(head.frontier)) != root:
        faults.append(ProofMismatch("the head's tree is not the tree of the entries"))
    if _root_of(lambda: frontier_at(head.size, view.node)) != root:
        faults.append(ProofMismatch("a stored node of the tree does not belong to the entries"))
    return faults


def _root_of(read: Callable[[], Frontier]) -> bytes:
    """Return the root of what is read; nothing if it cannot be read."""
    try:
        return read().root()
    except (LedgerBroken, InvalidInput):
        return b""


def _texts(view: Reading) -> tuple[int, list[CounterpointError]]:
    """Return how many texts were taken away, and a fault for each that was changed or is missing."""
    faults: list[CounterpointError] = []
    kept: set[str] = set()
    for digest, body in view.texts():
        kept.add(digest)
        if canonical.text_digest(body) != digest:
            faults.append(
                ProofMismatch(f"the text {digest[:12]}… was changed", hint="Restore a backup.")
            )
    wanted: set[str] = set()
    for noun in view.tables.values():
        wanted |= _digests(noun, view)
    gone = wanted - kept
    removed = {digest for _, digests in redactions(view) for digest in digests}
    faults += [
        ProofMismatch(
            f"the text {digest[:12]}… is missing, and no entry tells that it was taken away",
            hint="Restore a backup.",
        )
        for digest in sorted(gone - removed)[:_DIFFERENCES_SHOWN]
    ]
    return len(gone & removed), faults


def _digests(noun: type[Noun], view: Reading) -> set[str]:
    places = [place for place, column in enumerate(columns(noun)) if column.is_prose]
    if not places:
        return set()
    return {str(row[place]) for row in view.table(noun) for place in places if row[place]}


def _compare_table(
    noun: type[Noun], view: Reading, replayed: Reading
) -> tuple[int, list[StateDiffers]]:
    """Walk two tables side by side, both in the order of their keys."""
    count = 0
    differences: list[StateDiffers] = []
    mine, theirs = view.table(noun), replayed.table(noun)
    row: Any = next(mine, None)
    other: Any = next(theirs, None)
    while row is not None or other is not None:
        if row == other:  # as nearly all are
            count += 1
            row, other = next(mine, None), next(theirs, None)
            continue
        here, there = _key(noun, row), _key(noun, other)
        is_here = other is None or (row is not None and here <= there)
        is_there = row is None or (other is not None and there <= here)
        found = row if is_here else None, other if is_there else None
        if len(differences) < _DIFFERENCES_SHOWN:
            differences.append(_differs(noun, *found))
        if is_here:
            count += 1
            row = next(mine, None)
        if is_there:
            other = next(theirs, None)
    return count, differences


def _compare_tree(view: Reading) -> list[StateDiffers]:
    """Build the tree anew from the entries and compare every hash that is kept."""
    differences: list[StateDiffers] = []
    wrong: set[tuple[int, int]] = set()
    frontier, entries = Frontier(), view.entries()
    while leaves := list(map(leaf_hash, islice(entries, _LEAVES))):
        bottom = [(0, place, leaf) for place, leaf in enumerate(leaves, frontier.size)]
        frontier, nodes = frontier.extend(leaves)
        for level, row in groupby((*bottom, *nodes), key=itemgetter(0)):
            differences += _wrong_nodes(view, level, list(row), wrong)
    return differences[:_DIFFERENCES_SHOWN]


def _wrong_nodes(
    view: Reading, level: int, row: list[Node], wrong: set[tuple[int, int]]
) -> Iterator[StateDiffers]:
    """Compare the hashes of a level, which stand side by side; `wrong` are those found before."""
    first, last = row[0][1], row[-1][1]
    if view.nodes(level, first, last + 1) == [digest for _, _, digest in row]:
        return
    for _, index, digest in row:
        if _node(view, level, index) == digest:
            continue
        below = {(level - 1, 2 * index), (level - 1, 2 * index + 1)}
        wrong.add((level, index))
        # What stands on a wrong hash says nothing of its own.
        if below.isdisjoint(wrong):
            yield StateDiffers(
                f"hash {index} at level {level} of the tree is not that of the entries",
                table="nodes",
                key=f"{level}/{index}",
            )


def _node(view: Reading, level: int, index: int) -> bytes:
    try:
        return view.node(level, index)
    except LedgerBroken:
        return b""


def _key(noun: type[Noun], row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    names = [column.name for column in columns(noun)]
    return tuple(row[names.index(name)] for name in noun.key) if row is not None else ()


def _differs(noun: type[Noun], row: Any, other: Any) -> StateDiffers:
    key = "/".join(str(part) for part in _key(noun, row or other)[1:])
    if other is None:
        what = "is in the table, but no entry wrote it"
    elif row is None:
        what = "was written by an entry, but is not in the table"
    else:
        what = "is not what the entries say"
    return StateDiffers(
        f"row {key} of {noun.table} {what}",
        hint="Run `counterpoint restore` with a backup, or keep the file for inspection.",
        table=noun.table,
        key=key,
    )
