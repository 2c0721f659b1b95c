"""One round over the files of specs: edits come in, then changes go out.

It is run by the one process that has the turn (mirroring.py); the rules are told there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.work import Alias, Item
from counterpoint.core.operations.feed import concerned
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import labels_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import Role
from counterpoint.dialects.foundry.nouns.nodes import SPEC, Folder
from counterpoint.dialects.foundry.nouns.specs import path_of
from counterpoint.dialects.foundry.rules.importing.mending import Mended, mended
from counterpoint.dialects.foundry.rules.importing.parsing import malformed, parse
from counterpoint.dialects.foundry.rules.mirroring import (
    Record,
    Trouble,
    TroubleKind,
    Written,
    dump_record,
    is_older,
    meaning_of,
    says_the_same,
)
from counterpoint.dialects.foundry.rules.standing import folder_of
from counterpoint.dialects.foundry.spec_files import SpecFile, SpecFiles, dump_document
from counterpoint.dialects.foundry.verbs.documents.applying import Applied, Applying
from counterpoint.dialects.foundry.verbs.documents.importing import (
    ImportedSpec,
    Importing,
    fix_facts,
)
from counterpoint.dialects.foundry.verbs.sessions.locking import Locking
from counterpoint.dialects.foundry.verbs.specs import whole
from counterpoint.kernel.canonical import Json, sha256
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    Forbidden,
    MalformedDocument,
    NotFound,
)

Side = Literal["file", "ledger"]
_MANY: Final = 2_000
"""Entries behind which every spec counts as changed."""
_SELDOM: Final = 500
"""Entries after which is kept up to where was looked, though nothing was written."""
_REFUSED_TOLD: Final = 5
_PORTION: Final = 10
"""New files that one round takes in; whoever waits for its end waits for no more than these."""
_PORTION_BYTES: Final = 500_000
"""As long as they have fewer bytes than this."""
_MESSAGE: Final = 1_000
_LOCKED: Final = ("AUTONOMY_WRITE_LOCK_ACTIVE", "AUTHORIZATION")
"""Codes of what keeps an edit out for a time."""


@dataclass(slots=True, kw_only=True)
class Round:
    """What one round did: specs that came in, edits that were applied, files that were written, and what is in trouble.

    refusals: why files that were looked at are in trouble, by spec. waiting: how many new files are left to the next round.
    """

    imported: list[ImportedSpec] = field(default_factory=list[ImportedSpec])
    applied: list[Applied] = field(default_factory=list[Applied])
    written: list[str] = field(default_factory=list[str])
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    refusals: dict[str, CounterpointError] = field(default_factory=dict[str, CounterpointError])
    waiting: int = 0

    def add(self, later: Round) -> None:
        """Count what a later round did to this one."""
        self.imported += later.imported
        self.applied += later.applied
        self.written += later.written
        self.refusals |= later.refusals
        self.troubles, self.waiting = later.troubles, later.waiting


class Turn:
    """One round, by the process that has the turn."""

    def __init__(self, context: Context, files: SpecFiles, role: Role | None = None) -> None:
        """Begin one. role: of the call that takes a file in; None: none does."""
        self._role: Role | None = role
        self._context = context
        self._files = files
        self._record: Record = files.record()
        self._before = dump_record(self._record)
        self._seen: dict[str, list[SpecFile]] = files.listed()
        self._dirty: set[str] = set()
        self._done = Round()
        self._taken: list[int] = []
        """How many bytes each new file has that was looked at."""

    def run(self) -> Round:
        """Look at the files, then write."""
        begun = {spec for spec, one in self._record.files.items() if one.pending}
        if self._record.position < 0 or begun:
            # A process was killed while it wrote.
            self._files.tidy()
            self._dirty |= begun
        for spec, found in self._seen.items():
            self._look(spec, found)
        for spec in self._record.troubles.keys() - self._seen.keys():
            del self._record.troubles[spec]
        position = self._mark_changed()
        self._write(position)
        has_moved = position - self._record.position >= _SELDOM or self._record.position < 0
        if self._done.written or has_moved:
            self._record.position = position
        self._keep()
        self._done.troubles = dict(self._record.troubles)
        return self._done

    def first(self, spec: str) -> Round:
        """Take one spec in, if the ledger does not have it yet."""
        if self._root(spec) is None and spec in self._seen:
            # Also one that was refused before: whoever asks is told why.
            self._record.troubles.pop(spec, None)
            self._look(spec, self._seen[spec])
            self._keep()
            self._done.troubles = dict(self._record.troubles)
        return self._done

    def settle(self, spec: str, side: Side) -> Applied | None:
        """Let one side of a spec count."""
        found = self._seen.get(spec)
        if not found:
            raise NotFound(f"there is no file of {spec!r} in the folder of specs")
        self._record.troubles.pop(spec, None)
        file = found[0]
        data = self._files.read(file.folder, spec)
        applied = None
        if side == "file":
            wanted, root = parse(data, spec), self._root(spec)
            if root is None:
                made = self._import(spec, file, wanted)
                self._done.imported.append(made)
                applied = Applied(spec=spec, fixes=made.fixes)
            else:
                applied = self._apply(spec, file, self._mended(wanted, self._rendered(root)[0]))
        self._ours(spec, file, sha256(data))
        for other in found[1:]:
            self._files.remove(other.folder, spec)
        self._seen[spec] = found[:1]
        self._dirty.add(spec)
        return applied

    def _look(self, spec: str, found: list[SpecFile]) -> None:
        known = self._record.files.get(spec)
        if len(found) > 1:
            found = self._one_of(spec, found, known)
            if len(found) > 1:
                self._refuse(spec, found[0], "", "double", several(spec, found))
                return
        file = found[0]
        is_known = known is not None and (file.folder, file.mtime, file.size) == (
            known.folder,
            known.mtime,
            known.size,
        )
        if is_known:
            self._record.troubles.pop(spec, None)
            return
        is_left = self._is_full() and known is None and spec not in self._record.troubles
        if is_left and self._root(spec) is None:
            self._done.waiting += 1
            return
        digest = sha256(self._files.read(file.folder, spec))
        trouble = self._record.troubles.get(spec)
        if trouble is not None and (trouble.sha256, trouble.folder) == (digest, file.folder):
            is_over = trouble.kind == "locked" and Locking(self._context).is_open(spec)
            if not is_over:
                return
        self._record.troubles.pop(spec, None)
        root = self._root(spec)
        try:
            if root is None:
                self._taken.append(file.size)
                wanted = parse(self._files.read(file.folder, spec), spec)
                self._done.imported.append(self._import(spec, file, wanted))
                self._ours(spec, file, digest)
            else:
                self._compare(spec, root, file, digest)
        except CounterpointError as fault:
            is_locked = fault.facts.get("error_code") in _LOCKED
            self._refuse(spec, file, digest, "locked" if is_locked else "invalid", fault)

    def _is_full(self) -> bool:
        """Return whether this round has taken in as many new files as one may."""
        return len(self._taken) >= _PORTION or sum(self._taken) >= _PORTION_BYTES

    def _one_of(self, spec: str, found: list[SpecFile], known: Written | None) -> list[SpecFile]:
        """Return the file that is left of several: a process that was killed had not taken the old one away."""
        if known is None:
            return found
        ours = {known.sha256, known.pending}
        if not all(sha256(self._files.read(one.folder, spec)) in ours for one in found):
            return found
        kept = next((one for one in found if one.folder != known.folder), found[0])
        for one in found:
            if one is not kept:
                self._files.remove(one.folder, spec)
        self._record.files[spec] = replace(known, folder=kept.folder)
        self._seen[spec] = [kept]
        return [kept]

    def _compare(self, spec: str, root: Item, file: SpecFile, digest: str) -> None:
        """Take an edit in, or tell that it was made from something older, or that both sides have changed."""
        known = self._record.files.get(spec)
        now, content, folder = self._rendered(root)
        meaning = meaning_of(digest, known, sha256(content))
        has_moved = known is not None and file.folder not in {known.folder, folder}
        if meaning == "ours" and not has_moved:
            self._ours(spec, file, digest, known)
            self._dirty.add(spec)
            return
        # One that was only moved says nothing but where it lies.
        is_edit = meaning != "ours"
        said = parse(self._files.read(file.folder, spec), spec) if is_edit else now
        wanted = self._mended(said, now) if is_edit else Mended(now)
        tried = self._tried(spec, file, wanted.document)
        last = _last(known, now, sha256(content))
        if meaning == "conflict" and (tried.changes or known is not None):
            # One that says what the ledger has, in other words, is none.
            why = "it was changed, and so was the spec in the ledger"
            self._trouble(spec, file, digest, "conflict", why)
            return
        updated = said.get("last_updated") if is_edit else last
        wrong = _wrong_with(tried, updated, last) if meaning != "conflict" else None
        if wrong is not None:
            self._trouble(spec, file, digest, *wrong)
            return
        if meaning != "conflict":
            if tried.changes:
                try:
                    self._apply(spec, file, wanted)
                except (Conflict, Forbidden) as fault:
                    if fault.facts.get("error_code") not in _LOCKED:
                        raise
                    self._refuse(spec, file, digest, "locked", fault)
                    return
            elif wanted.actions:
                self._done.applied.append(Applied(spec=spec, fixes=wanted.actions))
        self._ours(spec, file, digest)
        self._dirty.add(spec)
        if known is not None and updated != last:
            self._leave(spec, root, file, said, last)

    def _leave(
        self, spec: str, root: Item, file: SpecFile, wanted: Mapping[str, Json], last: str
    ) -> None:
        """Leave a file of another version as it is if it says the same as the ledger."""
        now, content, folder = self._rendered(root)
        if folder != file.folder or not says_the_same(wanted, now):
            return
        updated = str(wanted.get("last_updated"))
        self._record.files[spec] = replace(
            self._record.files[spec],
            updated=last if is_older(updated, last) else updated,
            stands=sha256(content),
        )

    def _tried(self, spec: str, file: SpecFile, wanted: Mapping[str, Json]) -> Applied:
        folder = _folder(file)
        return Applying(self._context).apply(spec, wanted, dry_run=True, folder=folder)

    def _mended(self, said: Mapping[str, Json], now: Mapping[str, Json]) -> Mended:
        return mended(said, self._context.ports.clock.now(), now)

    def _apply(self, spec: str, file: SpecFile, wanted: Mended) -> Applied:
        path = path_of(file.folder, spec)
        facts: dict[str, Json] = {"file": path}
        if wanted.actions:
            facts |= fix_facts(wanted.actions)
        with Locking(self._context).edited(spec, self._role):
            told = Applying(self._context).apply(
                spec,
                wanted.document,
                because=f"edited in {path}",
                facts=facts,
                folder=_folder(file),
            )
        told = replace(told, fixes=wanted.actions)
        self._done.applied.append(told)
        return told

    def _import(self, spec: str, file: SpecFile, wanted: Mapping[str, Json]) -> ImportedSpec:
        refuse_other_name(wanted, spec)
        path = path_of(file.folder, spec)
        with Locking(self._context).edited(spec, self._role):
            return Importing(self._context).make(wanted, _folder(file), source=path)

    def _mark_changed(self) -> int:
        """Note the specs that the ledger has changed since the last look; answer up to where that is."""
        with self._context.reading() as view:
            end = view.head().size
            names = {item: name for name, item in view.cells(Alias, ("name", "item"), scope=SPEC)}
            since = self._record.position
            if since < 0 or end - since > _MANY or since > end:
                self._dirty |= set(names.values())
            else:
                entries = [Entry.from_bytes(data) for data in view.entries(since, end)]
                # What was taken away may have stood anywhere: the entry names no item.
                was_redacted = any(one.action == REDACTION for one in entries)
                touched = names if was_redacted else _changed(view, entries)
                self._dirty |= {names[one] for one in touched if one in names}
            missing = [one for one in names.values() if one not in self._seen]
            self._dirty |= set(missing)
        return end

    def _write(self, position: int) -> None:
        """Write the files of specs that changed: what is to come is remembered before."""
        due: dict[str, tuple[bytes, str, Folder]] = {}
        for spec in sorted(self._dirty - self._record.troubles.keys()):
            root = self._root(spec)
            if root is None:
                continue
            _, content, folder = self._rendered(root)
            known, digest = self._record.files.get(spec), sha256(content)
            is_there = spec in self._seen and self._seen[spec][0].folder == folder
            is_so = known is not None and digest in {known.sha256, known.stands}
            if known is not None and is_there and is_so and known.folder == folder:
                self._record.files[spec] = replace(known, position=position, pending="")
                continue
            due[spec] = content, digest, folder
            known = known or Written(folder=folder, sha256="", position=position)
            self._record.files[spec] = replace(known, pending=digest)
        if due:
            self._keep()
        for spec, (content, digest, folder) in due.items():
            self._put(spec, content, digest, folder, position)

    def _put(self, spec: str, content: bytes, digest: str, folder: Folder, position: int) -> None:
        seen = self._seen.get(spec, [])
        if any(self._files.look(one.folder, spec) != one for one in seen):
            # Somebody is at it: the next round sees what he did.
            self._record.files[spec] = replace(self._record.files[spec], pending="")
            return
        if not seen and self._files.look(folder, spec) is not None:
            return
        file = self._files.write(folder, spec, content)
        for one in seen:
            if one.folder != folder:
                self._files.remove(one.folder, spec)
        self._record.files[spec] = Written(
            folder=folder,
            sha256=digest,
            position=position,
            mtime=file.mtime,
            size=file.size,
        )
        self._seen[spec] = [file]
        self._done.written.append(spec)

    def _rendered(self, root: Item) -> tuple[dict[str, Json], bytes, Folder]:
        with self._context.reading() as view:
            root = view.find(Item, root.id) or root
            document = whole(view, root)
            folder = folder_of(root.category, labels_of(view, root.id))
            return document, dump_document(document), folder

    def _root(self, spec: str) -> Item | None:
        with self._context.reading() as view:
            known = view.find(Alias, SPEC, spec)
            return view.find(Item, known.item) if known is not None else None

    def _ours(self, spec: str, file: SpecFile, digest: str, before: Written | None = None) -> None:
        """Count a file as ours; before: what was known of it, if that goes on."""
        known = self._record.files.get(spec)
        past = before if before is not None and before.sha256 == digest else None
        self._record.files[spec] = Written(
            folder=file.folder,
            sha256=digest,
            position=known.position if known else -1,
            mtime=file.mtime,
            size=file.size,
            updated=past.updated if past else "",
            stands=past.stands if past else "",
        )

    def _refuse(
        self, spec: str, file: SpecFile, digest: str, kind: TroubleKind, why: CounterpointError
    ) -> None:
        self._done.refusals[spec] = why
        again = (
            "; it is looked at again when that is over, and a person takes it in at once with"
            f" `counterpoint import foundry --take file {spec}`"
            if kind == "locked"
            else ""
        )
        self._trouble(spec, file, digest, kind, f"{why.message}{again}")

    def _trouble(
        self, spec: str, file: SpecFile, digest: str, kind: TroubleKind, message: str
    ) -> None:
        self._record.troubles[spec] = Trouble(
            kind=kind, message=message[:_MESSAGE], folder=file.folder, sha256=digest
        )

    def _keep(self) -> None:
        data = dump_record(self._record)
        if data != self._before:
            self._files.keep(self._record)
            self._before = data


def several(spec: str, files: Sequence[SpecFile]) -> MalformedDocument:
    """Return the refusal of a spec that has files in several folders."""
    folders = " and ".join(one.folder for one in files)
    place = path_of(files[-1].folder, spec)
    return malformed(f"there is one in {folders}", ("DUPLICATE_ENTRY", place))


def refuse_other_name(document: Mapping[str, Json], spec: str) -> None:
    """Raise MalformedDocument if a document is of another spec than its file is named for."""
    if document.get("spec_id") != spec:
        raise malformed(
            f"its spec_id is not {spec!r}, as it is named", ("INVALID_SPEC_ID_FORMAT", "spec_id")
        )


def _changed(view: Reading, entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        yield from concerned(view, entry)


def _folder(file: SpecFile) -> Folder:
    return cast("Folder", file.folder)


def _last(known: Written | None, now: Mapping[str, Json], digest: str) -> str:
    """Return the `last_updated` of what lay there last, of a spec that has not moved since."""
    if known is not None and known.stands == digest:
        return known.updated
    return str(now["last_updated"])


def _wrong_with(tried: Applied, updated: Json, last: str) -> tuple[TroubleKind, str] | None:
    """Return why an edit is not to be applied; one that changes nothing may be as old as it is."""
    if (tried.changes or tried.refused) and is_older(updated, last):
        return "conflict", _older(updated, last)
    return ("refused", _reasons(tried)) if tried.refused else None


def _older(updated: Json, last: str) -> str:
    said = f"of {updated[:40]}" if isinstance(updated, str) else "without a last_updated"
    return (
        f"it was made from an older version ({said}; the last one is of {last}), "
        "and what was done since would be undone"
    )


def _reasons(applied: Applied) -> str:
    shown = [f"{one.node} {one.field}: {one.reason}" for one in applied.refused[:_REFUSED_TOLD]]
    more = len(applied.refused) - len(shown)
    return "; ".join((*shown, *((f"and {more} more",) if more else ())))
