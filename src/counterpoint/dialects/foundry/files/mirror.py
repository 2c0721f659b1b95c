"""Keeps the spec files of a repository equal to the ledger.

It is run by the one process that has the turn.

Specs as files beside the ledger, and edits of these files on their way back.
Rules: (1) one round looks at the files first, then writes what the ledger has changed: any number of changes between two rounds
are one write. Of many new files it takes in some, and leaves the others to the next one, so that nobody waits for all. (2) What a file says is applied as a whole or not at all, and under the rules of every word; it is nobody's word but
that of whoever calls. (3) A file that is in trouble is never written, until it is mended, is as it was, or somebody has
said which side counts. (4) What is about to be written is remembered first, so that a file is known as ours also after a kill.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, cast

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.work import Alias, Item
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import labels_of
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.feed import list_touched_items
from counterpoint.dialects.foundry.documents.operations import (
    Applied,
    Applying,
    ImportedSpec,
    Importing,
    fix_facts,
)
from counterpoint.dialects.foundry.documents.rules.importing import (
    Mended,
    Record,
    Trouble,
    TroubleKind,
    WrittenFile,
    dump_record,
    is_older,
    meaning_of,
    mended,
    says_the_same,
)
from counterpoint.dialects.foundry.files.spec_files import (
    LastRecords,
    SpecFile,
    SpecFiles,
    dump_document,
)
from counterpoint.dialects.foundry.models.runs import Role
from counterpoint.dialects.foundry.models.specs import SPEC, Folder, path_of
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.nodes.rules.progress import folder_of
from counterpoint.dialects.foundry.nodes.rules.shape import malformed, parse
from counterpoint.dialects.foundry.nodes.rules.tree import faults_in
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.runs.locking import Locking
from counterpoint.dialects.foundry.specs.operations import whole
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

    def _one_of(
        self, spec: str, found: list[SpecFile], known: WrittenFile | None
    ) -> list[SpecFile]:
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
            known = known or WrittenFile(folder=folder, sha256="", position=position)
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
        self._record.files[spec] = WrittenFile(
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

    def _ours(
        self, spec: str, file: SpecFile, digest: str, before: WrittenFile | None = None
    ) -> None:
        """Count a file as ours; before: what was known of it, if that goes on."""
        known = self._record.files.get(spec)
        past = before if before is not None and before.sha256 == digest else None
        self._record.files[spec] = WrittenFile(
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
        yield from list_touched_items(view, entry)


def _folder(file: SpecFile) -> Folder:
    return cast("Folder", file.folder)


def _last(known: WrittenFile | None, now: Mapping[str, Json], digest: str) -> str:
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


@dataclass(slots=True)
class Arriving:
    """How many new files the last round of this process has left to the next one."""

    files: int = 0


@dataclass(slots=True)
class Keeping:
    """Which projects of this process keep the files of which folder, once that is known: it stays so."""

    own: set[tuple[str, Path]] = field(default_factory=set[tuple[str, Path]])


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """A file that cannot be a spec. document: what it says, as far as it is one; faults: why it stays outside."""

    path: str
    faults: list[dict[str, Json]]
    document: Mapping[str, Json] = field(default_factory=dict[str, Json])


class Mirroring(Verbs):
    """Verbs for the files of specs."""

    @cached_property
    def files(self) -> SpecFiles:
        """The files of the project; PathOutside."""
        context, places = self._context, self._context.ports.get(SpecsPlaces)
        return SpecFiles(
            specs=places.specs,
            home=places.home,
            state=places.state,
            project=context.project,
            evidence=context.ports.evidence,
            asks=_asked(context),
        )

    def round(self, *, waits: bool = False) -> Round:
        """Take edits of the files in, and write what has changed; nothing while another process does.

        waits: until that has ended, and then for all new files. Raises Unavailable where the files cannot be read or written.
        """
        done = self._round(waits=waits)
        while waits and done.waiting:
            done.add(self._round(waits=True))
        self._context.ports.remember(Arriving).files = done.waiting
        return done

    def _round(self, *, waits: bool) -> Round:
        if not self.files.open():
            return Round()
        # Also while another process has its turn, which judges edits by it.
        Locking(self._context).publish_role()
        with self.files.turn(waits=waits) as is_mine:
            is_kept = is_mine and self._has_any() and self._claim()
            return Turn(self._context, self.files).run() if is_kept else Round()

    def _has_any(self) -> bool:
        """Return whether there is a spec, as a file or in the ledger: a folder without any is nobody's yet."""
        if self._is_own or self.files.listed():
            return True
        with self._context.reading() as view:
            return view.exists(Alias, scope=SPEC)

    def _claim(self) -> bool:
        if not self._is_own and self.files.claim():
            self._context.ports.remember(Keeping).own.add(self._place)
        return self._is_own

    @property
    def _is_own(self) -> bool:
        return self._place in self._context.ports.remember(Keeping).own

    @property
    def _place(self) -> tuple[str, Path]:
        return self._context.project, self._context.ports.get(SpecsPlaces).state

    def other_keeper(self) -> str:
        """Return the other project that keeps the files of this one's folder; empty if there is none."""
        if self._is_own:
            return ""
        found = self.files.other_keeper()
        return found if found and self.files.is_there() else ""

    def kept_elsewhere(self) -> str:
        """Return in few words that another project keeps the files of the folder; empty if none does."""
        keeper = self.other_keeper()
        return told_keeper(self.files.specs.name, keeper, self._context.project) if keeper else ""

    def troubles(self) -> dict[str, Trouble]:
        """Return the specs whose files are left alone, and why."""
        return self.files.record().troubles if self.files.open() else {}

    def links(self) -> tuple[str, ...]:
        """Return the links that stand where folders of files are to be, from the project on."""
        return self.files.links() if self.files.asks is not False else ()

    def warning(self, spec: str) -> str:
        """Return in few words what is to be told to whoever works on a spec of its file; empty if nothing is."""
        ports = self._context.ports
        records, state = ports.remember(LastRecords), ports.get(SpecsPlaces).state
        found = records.get(state, self._context.project, ports.evidence).troubles.get(spec)
        # Few are in trouble: only of those it is asked whether there are to be files at all.
        if found is None or not self.files.open():
            return ""
        why = found.message if found.kind == "locked" else "`counterpoint doctor` tells why"
        return f"The file of {spec} is left as it is ({found.kind}): {why}."

    def arriving(self) -> str:
        """Return in few words how many new files are still to be read; empty if none is."""
        left = self._context.ports.remember(Arriving).files
        if not left or not self.files.open():
            return ""
        return f"New files of specs still to be read: {left}; a spec that a call names is read at once."

    def first_sight(self, spec: str, role: Role) -> ImportedSpec | None:
        """Return the spec that the ledger did not have and that came in from its file; None if there is no such file.

        No other file is looked at: what others edited is not the word of this caller. role: the caller's. MalformedDocument with
        all faults; Forbidden to a role that may not change a spec.
        """
        if not self.files.open() or spec not in self.files.listed():
            return None
        with self.files.turn(waits=True):
            if not self._claim():
                return None
            found = Turn(self._context, self.files, role).first(spec)
        if spec in found.troubles:
            refusal = found.refusals.get(spec)
            if isinstance(refusal, Forbidden):
                raise refusal
            raise _refused(spec, found.troubles[spec], refusal)
        return next(iter(found.imported), None)

    def is_in(self, spec: str) -> bool:
        """Return whether the ledger has a spec."""
        with self._context.reading() as view, suppress(NotFound):
            return bool(get_spec(view, spec))
        return False

    def unread(self, spec: str) -> UnreadFile | None:
        """Return the file of a spec that cannot come in, and all that is wrong in it; None if there is none, or it can."""
        is_read = self.files.asks is not False and not self.other_keeper()
        files = self.files.listed().get(spec) if is_read else None
        if not files:
            return None
        file, document = files[0], dict[str, Json]()
        path = path_of(file.folder, spec)
        if len(files) > 1:
            return UnreadFile(path=path, faults=faults_in(several(spec, files), path))
        try:
            document = parse(self.files.read(file.folder, spec), spec)
            refuse_other_name(document, spec)
            Importing(self._context).judge(document)
        except MalformedDocument as refusal:
            return UnreadFile(path=path, faults=faults_in(refusal, path), document=document)
        return None

    def take(self, spec: str, side: Side) -> Applied | None:
        """Settle the trouble of a file: by what it says, of which what is refused is told, or by the ledger.

        Raises NotFound without a file, and for the ledger without the spec; MalformedDocument, Unavailable.
        """
        if not self.files.open():
            raise NotFound(self.kept_elsewhere() or "this project keeps no files of specs")
        if side == "ledger" and not self.is_in(spec):
            raise NotFound(
                f"the ledger has no spec {spec!r}, so that it cannot count",
                hint=f"Take its file in with `counterpoint import foundry --take file {spec}`, or name another spec.",
            )
        with self.files.turn(waits=True):
            if not self._claim():
                raise NotFound(self.kept_elsewhere())
            turn = Turn(self._context, self.files)
            told = turn.settle(spec, side)
            turn.run()
            return told


def _refused(spec: str, trouble: Trouble, refusal: CounterpointError | None) -> MalformedDocument:
    """Return the refusal of a call about a spec whose file did not come in."""
    place = path_of(trouble.folder, spec)
    why = refusal or MalformedDocument(trouble.message)
    return MalformedDocument(
        told(spec, trouble),
        hint="`spec validate` tells all that is wrong in it; mend the file, nothing of it was taken over.",
        faults=cast("Json", faults_in(why, place)),
    )


def told_keeper(folder: str, keeper: str, project: str) -> str:
    """Return whose files lie in a folder of specs, and what another project of it can do."""
    return (
        f"The files in {folder}/ are kept by the project {keeper}: {project} neither reads nor writes them."
        " `FOUNDRY_MCP_SPECS_DIR` gives it a folder of its own."
    )


def told(spec: str, trouble: Trouble) -> str:
    """Return why the file of a spec is left alone, and what helps."""
    return (
        f"{path_of(trouble.folder, spec)} is not mirrored: {trouble.message}. "
        f"Mend it, or run `counterpoint import foundry --take file {spec}` or `--take ledger {spec}`."
    )


def _asked(context: Context) -> bool | None:
    """Return whether the project asks for files; one whose configuration cannot be read does not ask."""
    checking = context.ports.checking
    try:
        return checking().mirrors if checking else None
    except MalformedDocument:
        return None
