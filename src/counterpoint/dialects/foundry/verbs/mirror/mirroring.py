"""Specs as files beside the ledger, and edits of these files on their way back.

Rules: (1) one round looks at the files first, then writes what the ledger has changed: any number of changes between two rounds
are one write. Of many new files it takes in some, and leaves the others to the next one, so that nobody waits for all. (2) What a file says is applied as a whole or not at all, and under the rules of every word; it is nobody's word but
that of whoever calls. (3) A file that is in trouble is never written, until it is mended, is as it was, or somebody has
said which side counts. (4) What is about to be written is remembered first, so that a file is known as ours also after a kill.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from counterpoint.core.model.work import Alias
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.nouns.autonomy import Role
from counterpoint.dialects.foundry.nouns.nodes import SPEC
from counterpoint.dialects.foundry.nouns.specs import path_of
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.rules.importing.parsing import parse
from counterpoint.dialects.foundry.rules.importing.refusing import faults_in
from counterpoint.dialects.foundry.rules.mirroring import Trouble
from counterpoint.dialects.foundry.spec_files import LastRecords, SpecFiles
from counterpoint.dialects.foundry.verbs.documents.applying import Applied
from counterpoint.dialects.foundry.verbs.documents.importing import ImportedSpec, Importing
from counterpoint.dialects.foundry.verbs.mirror.rounds import (
    Round,
    Side,
    Turn,
    refuse_other_name,
    several,
)
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.sessions.locking import Locking
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Forbidden, MalformedDocument, NotFound


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


class Mirroring:
    """Verbs for the files of specs."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
