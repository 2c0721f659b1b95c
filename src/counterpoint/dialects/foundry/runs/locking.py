"""Keeps a run's spec from being changed beside it.

The least role of each process with connections, told to the others (seam).
A process that has a connection with a narrow role keeps a file beside the ledger under a lock, so that it counts for as long as
the process lives; one whose lock is free was left behind, and is taken away. Who has seen a file keeps it open, so that its role counts
on where somebody takes the file away.

Keeps others from changing a spec while an unattended run works on it.
The lock is checked in the first view that the call opens, so that the whole call is refused and not each part of it, and again in each
transaction that writes, so that no run begins between the look and the change.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from counterpoint.core.operations.recording.authority import authority_of
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.callers import PEOPLE
from counterpoint.dialects.foundry.models.runs import Role, SpecSession
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.door import Door
from counterpoint.dialects.foundry.runs.rows import SESSION_TYPE, note_event, ref_of, spec_of
from counterpoint.dialects.foundry.runs.rules.commands import (
    refuse_locked,
    refuse_outside_run,
    refuse_stranger,
)
from counterpoint.dialects.foundry.runs.rules.limits import (
    BOUND,
    WIDENING,
    Configured,
    refuse_edit,
    role_named,
)
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound

_WIDTH: Final = 32
"""Bytes of the word in a file, blanks included: it is written over at once."""
_FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class OpenRoles:
    """What this process has told, by folder and project: its file, the descriptor that has the lock, and the role; and descriptors of the files of others."""

    _told: dict[tuple[Path, str], tuple[Path, int, Role]] = field(
        default_factory=dict[tuple[Path, str], tuple[Path, int, Role]]
    )
    _seen: dict[Path, int] = field(default_factory=dict[Path, int])
    _guard: Lock = field(default_factory=Lock)

    def published(self, state: Path, project: str) -> list[Role]:
        """Return the least role of each process of a folder that has told one, also where its file was taken away since it was seen."""
        with self._guard:
            for path in state.glob("roles-*.lock"):
                # The name of one project can begin with that of another.
                if path not in self._seen and _is_of(path, state, project):
                    with suppress(FileNotFoundError):
                        self._seen[path] = os.open(path, _FLAGS)
            roles = list[Role]()
            for path, descriptor in [*self._seen.items()]:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    if _is_of(path, state, project):
                        word = os.pread(descriptor, _WIDTH, 0)
                        roles.append(role_named(word.decode(errors="replace")))
                else:
                    if _is_there(path, descriptor):
                        path.unlink(missing_ok=True)
                    os.close(self._seen.pop(path))
        return roles

    def publish(self, state: Path, project: str, role: Role) -> None:
        """Tell the least role of this process; nothing is written until one is narrow.

        A file that somebody took away, whom the role may bind, is made anew.
        """
        key = state, project
        with self._guard:
            published = self._told.get(key)
            if published and not _is_there(*published[:2]):
                os.close(published[1])
                del self._told[key]
                published = None
            if role == (published[2] if published else WIDENING[-1]):
                return
            # Where nothing can be written no files of specs are kept either.
            with suppress(OSError):
                path, descriptor = published[:2] if published else _locked(state, project)
                os.pwrite(descriptor, role.ljust(_WIDTH).encode(), 0)
                self._told[key] = path, descriptor, role


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return path.lstat().st_ino == os.fstat(descriptor).st_ino
    except OSError:
        return False


def _is_of(path: Path, state: Path, project: str) -> bool:
    return path.parent == state and path.name.rpartition("-")[0] == f"roles-{project}"


def _locked(state: Path, project: str) -> tuple[Path, int]:
    """Return a file of this process alone; nobody finds it before its lock is held and its word written."""
    passing = state / f".roles-{os.urandom(8).hex()}.part"
    descriptor = os.open(passing, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.pwrite(descriptor, WIDENING[0].ljust(_WIDTH).encode(), 0)
    path = passing.rename(state / f"roles-{project}-{os.urandom(8).hex()}.lock")
    return path, descriptor


class Locking(Verbs):
    """Verbs for the lock that a run has on its spec."""

    @contextmanager
    def held(self, spec: str, session: str, role: Role | None = None) -> Generator[None]:
        """Refuse what this call writes during the block while a run of a spec goes on that is not the one named; Conflict.

        A named session has to be the caller's, or one that the caller could go on with: whoever is at a run is at its spec.
        role: one that works only in its own run is refused (Forbidden) also while none goes on.
        """

        def ask(view: Reading) -> None:
            _refuse_locked(view, spec, session, role)

        before = self._context.conditions
        self._context.conditions = (*before, ask)
        try:
            if session and not self._is_own(spec):
                self._refuse_stranger(spec, is_strict=role is not None)
            yield
        finally:
            self._context.conditions = before

    @contextmanager
    def edited(self, spec: str, role: Role | None = None) -> Generator[None]:
        """Refuse what a spec's file writes during the block, as a call would be; Conflict, Forbidden.

        role: of the call that takes it in; None: a round does, and it is the word of nobody known, or a person's command, which
        neither the lock nor a role keeps out.
        """
        if role is None:
            if self._is_person():
                yield
                return
            role = self._role_of_files()
        refuse_edit(role)
        with self.held(spec, "", role if role in BOUND else None):
            yield

    def is_open(self, spec: str) -> bool:
        """Return whether an edit of a spec's file would be accepted now."""
        try:
            role = self._role_of_files()
            refuse_edit(role)
            with self._context.reading() as view:
                _refuse_locked(view, spec, "", role if role in BOUND else None)
        except (Conflict, Forbidden):
            return False
        return True

    def publish_role(self) -> Role:
        """Return the least role that open connections of this process were started with, told to other processes."""
        ports = self._context.ports
        role = ports.get(Door).least_role(lambda caller: ports.host.absence(caller) is None)
        ports.remember(OpenRoles).publish(ports.get(SpecsPlaces).state, self._context.project, role)
        return role

    def _role_of_files(self) -> Role:
        """Return the least role of the project and of all open connections, by which edits of files are judged."""
        ports = self._context.ports
        state = ports.get(SpecsPlaces).state
        others = ports.remember(OpenRoles).published(state, self._context.project)
        roles = {self.publish_role(), ports.get(Door).role_of("", ""), *others}
        return next(role for role in WIDENING if role in roles)

    def _is_person(self) -> bool:
        with self._context.reading() as view:
            return authority_of(view, self._context) in PEOPLE

    def _is_own(self, spec: str) -> bool:
        """Return whether the run that goes on with a spec is the caller's, if there is one."""
        with self._context.reading() as view:
            row = _running(view, spec)
            return row is None or rows.is_own_session(view, row.session, self._context.caller)

    def _refuse_stranger(self, spec: str, *, is_strict: bool) -> None:
        # It writes nothing: whether a lost session may be taken over is decided in a transaction.
        with recording(self._context, "run.looked") as change:
            row = _running(change.writing, spec)
            if row is not None:
                run = ref_of(row, spec_of(change.writing, row))
                holder = rows.other_at(change, row.session)
                refuse_stranger(run, holder, is_strict=is_strict)

    @contextmanager
    def bypassed(
        self, spec: str, session: str, configured: Configured, reason: str
    ) -> Generator[None]:
        """Let this call write in spite of a run, and write down why; Forbidden, InvalidInput without a reason."""
        with self._context.reading() as view:
            row = _running(view, spec)
            run = ref_of(row, spec_of(view, row)) if row is not None else None
        if configured.role in BOUND and (run is None or not run.is_locking):
            refuse_outside_run(configured.role, run, session)
        if row is not None and session == row.session:
            # Whoever names a run has to be at it, lock or none.
            with self.held(spec, session, configured.role if configured.role in BOUND else None):
                yield
            return
        if row is None or not row.is_locking:
            yield
            return
        refuse_locked(run, session, configured.role, configured.terms(), bypass=True)
        if not reason.strip():
            raise InvalidInput(
                "the lock of a run is bypassed for a reason",
                hint="Say it in `bypass_reason`.",
                error_code="MISSING_REQUIRED",
            )
        with transaction(self._context):
            with recording(self._context, "run.bypassed", row.spec) as change:
                change.open_session()
                change.add_facts(run=row.session)
                title = "Write lock bypassed"
                note_event(change, row, title, reason, type_=SESSION_TYPE, action="bypass")
            yield


def _refuse_locked(view: Reading, spec: str, session: str, role: Role | None) -> None:
    """Raise Conflict while a run of a spec goes on that is not the one named, Forbidden for a role that works only in its own."""
    row = _running(view, spec)
    run = ref_of(row, spec_of(view, row)) if row is not None else None
    if role is not None:
        refuse_outside_run(role, run, session)
    if run is not None:
        refuse_locked(run, session)


def _running(view: Reading, spec: str) -> SpecSession | None:
    """Return the running run of a spec; None, also for a spec that does not exist."""
    # There are few at any time: in most projects this is the only query.
    rows = view.select(SpecSession, status="running")
    if not rows:
        return None
    try:
        root = get_spec(view, spec)
    except NotFound:
        return None
    return next((row for row in rows if row.spec == root.id), None)
