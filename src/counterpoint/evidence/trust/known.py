"""Ledgers that were in a place, even if none is left, and what this account trusts of them.

Layout: `ledgers/<name of the place>` in the folder of the user's state, a line for each ledger that was begun or met there, the
latest last, canonical JSON {"ledger", "place", "project", "time"}; with a "reason" it is gone, because a person said so. Further keys:

    how     `begun`, `met`, `moved` (from another place of this account), `before` (it was trusted here before there was this key, or in
            another file) or `trusted` (a person said so); `made`, without a ledger: this account makes the database
    digest  what was trusted of its configuration; empty: nothing of it
    file    device and inode of the database

1. It is written with the first entry of a ledger, by whoever writes that: the signer knows a ledger only once it was signed.
2. The last line of a project counts. What the signer of this account remembers of the place counts beside it, and for the default place the refs that the
   repository has (`refs/counterpoint/heads/`): the only memory of a container that has no home. Not those of ledgers that
   are known to be gone, or to be in another place that is still there.
3. A ledger is trusted in its place if its last line there that says how says anything but `met`, and its configuration with the digest of
   that line alone. A line without `how` is from before, and trusts whatever the ledger says. So what somebody else has laid there is met, and
   nothing that its rows loosen counts; a new project in such a database is met as well.
4. Whoever moves the folder takes the trust along: the same file, and none in the old place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from counterpoint.core.model.work import Project
from counterpoint.evidence.trust.folders import (
    append_lines,
    locked,
    make_private,
    read_lines,
    state_folder,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput, LedgerGone, SignerAway, Unavailable
from counterpoint.kernel.frozen import frozen, mutable
from counterpoint.kernel.places import LEDGERS, short_name

MET: Final = "met"
_ANY: Final = "*"
"""Stands for every digest, in a place from before digests were kept."""


@frozen
class KnownLedger:
    """A ledger that was in a place. since: when it was met there first; empty if that is not known."""

    ledger: str
    project: str
    since: str = ""


@frozen
class KnownLedgers:
    """What this account knows of one place. folder: of all places."""

    folder: Path
    place: str

    def here(self) -> list[KnownLedger]:
        """Return the last ledger of each project that was here and is not gone on purpose; SignerAway."""
        lines = [line for line in _lines(self._file) if "ledger" in line]
        last = {str(line.get("project")): line for line in lines}
        return [
            KnownLedger(
                ledger=str(line.get("ledger")), project=project, since=str(line.get("time"))
            )
            for project, line in last.items()
            if "reason" not in line
        ]

    def is_forgotten(self, ledger: str) -> bool:
        """Return whether a person said that a ledger is gone from here; SignerAway."""
        return any(line.get("ledger") == ledger and "reason" in line for line in _lines(self._file))

    def is_settled(self, ledger: str) -> bool:
        """Return whether a ledger is in another place, and that is still there; SignerAway."""
        files = self.folder.iterdir() if self.folder.exists() else ()
        return any(
            line.get("ledger") == ledger and Path(str(line.get("place"))).exists()
            for file in files
            for line in _lines(file)
        )

    def remember(
        self,
        project: str,
        ledger: str,
        time: str,
        *,
        digest: str = "",
        is_begun: bool = False,
        signed: Callable[[], Mapping[str, str]] = dict[str, str],
    ) -> None:
        """Know from now on that a ledger is here, and whether it is trusted (rules 3 and 4); SignerAway.

        digest: what the ledger says was trusted. is_begun: whether this account has begun it now. signed: answers the ledgers that the signer of
        this account remembers of the place, by names; asked where nothing else is known.
        """
        lines = [line for line in _lines(self._file) if line.get("project") == project]
        last: dict[str, Any] = lines[-1] if lines else {}
        # A backup that was put back is another file, and is to be known by that when it is moved.
        if (last.get("ledger"), last.get("file")) == (ledger, self._mark) and "how" in last:
            return
        make_private(self.folder)
        with locked(self.folder):
            # What the signer remembers is from before only as long as no line says how the ledger came here.
            how, digest = self._judge(ledger, digest, signed, is_begun=is_begun)
            entry = {"ledger": ledger, "project": project, "time": time}
            self._write([{**entry, "how": how, "digest": digest, "file": self._mark}])

    def _judge(
        self, ledger: str, digest: str, signed: Callable[[], Mapping[str, str]], *, is_begun: bool
    ) -> tuple[str, str]:
        """Return how a ledger came here, and the digest that is trusted with that."""
        lines = [*_lines(self._file)]
        trusted = _trusted_in(lines, ledger)
        if trusted is not None:
            return "before", digest if trusted == _ANY else trusted
        if any(line.get("ledger") == ledger for line in lines):
            return MET, ""
        if is_begun and self._is_own(lines):
            return "begun", ""
        if (moved := self._moved(ledger)) is not None:
            return "moved", moved
        with suppress(Unavailable):
            if ledger in signed().values():
                return "before", digest
        return MET, ""

    def is_own(self) -> bool:
        """Return whether the database that is here now is this account's; SignerAway."""
        return self._is_own([*_lines(self._file)])

    def _is_own(self, lines: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether this account made the database that is here now, or trusts a ledger in it."""
        if lines and lines[-1].get("how") == "made":
            return True
        mark = self._mark
        # A line from before files were kept is of whatever is here.
        return any(
            line.get("file", mark) == mark and line.get("how", "") != MET and "reason" not in line
            for line in lines
            if "ledger" in line
        )

    def _moved(self, ledger: str) -> str | None:
        """Return the digest that was trusted of a ledger in another place, if its file was moved from there to here; None if not."""
        mark = self._mark
        for file in sorted(self.folder.iterdir()) if mark else ():
            lines = list[dict[str, Any]]()
            with suppress(Unavailable):
                lines = [line for line in _lines(file) if line.get("ledger") == ledger]
            if lines and lines[-1].get("file") == mark:
                place, trusted = str(lines[-1].get("place")), _trusted_in(lines, ledger)
                if trusted is not None and _mark_of(place) != mark:
                    return trusted
        return None

    def make(self, *, is_anew: bool) -> None:
        """Know that this account makes the database here, unless anything of the place is known and it is not anew; SignerAway."""
        if is_anew or not self._file.exists():
            self._append([{"how": "made"}])

    def trusted(self, ledger: str) -> str | None:
        """Return the digest that is trusted of a ledger here, `*` for any; None if it is not trusted. SignerAway."""
        return _trusted_in(_lines(self._file), ledger)

    def trust(self, project: str, ledger: str, time: str, digest: str) -> None:
        """Trust a ledger here from now on, with a digest of its configuration; SignerAway."""
        entry = {"ledger": ledger, "project": project, "time": time}
        self._append([{**entry, "how": "trusted", "digest": digest, "file": self._mark}])

    @property
    def _mark(self) -> str:
        return _mark_of(self.place)

    def forget(self, gone: Collection[KnownLedger], reason: str, time: str) -> None:
        """Know that ledgers are gone, because a person said why; SignerAway."""
        self._append(
            [
                {"ledger": entry.ledger, "project": entry.project, "reason": reason, "time": time}
                for entry in gone
            ]
        )

    @property
    def _file(self) -> Path:
        return self.folder / short_name(self.place)

    def _append(self, lines: Sequence[Mapping[str, Json]]) -> None:
        make_private(self.folder)
        with locked(self.folder):
            self._write(lines)

    def _write(self, lines: Sequence[Mapping[str, Json]]) -> None:
        append_lines(self._file, [canonical.dump({**line, "place": self.place}) for line in lines])


@mutable
class TrustedPlace:
    """What this account has trusted in one place, as every process of it reads it. known: None for an account without a home."""

    known: KnownLedgers | None
    clock: Clock
    _last: tuple[str, str] | None = None
    """The ledger and the digest that were trusted when somebody looked last: they are until its rows say something else."""

    def covers(self, ledger: str, digest: str) -> bool:
        """Return whether a ledger is trusted here, and last with this digest."""
        if self._last == (ledger, digest):
            return True
        trusted = self._find(ledger)
        if trusted not in {digest, _ANY}:
            return False
        self._last = ledger, digest
        return True

    def is_trusted(self, ledger: str) -> bool:
        """Return whether a ledger is trusted here."""
        if self._last is not None and self._last[0] == ledger:
            return True
        return self._find(ledger) is not None

    def trust(self, project: Project, digest: str) -> None:
        """Trust a ledger here from now on; SignerAway."""
        if self.known is None:
            # It says what this account lacks.
            state_folder(os.environ)
            return
        self.known.trust(project.project, project.ledger, self.clock.now(), digest)

    def carry(self, source: TrustedPlace, project: Project) -> None:
        """Trust a ledger here as it is trusted in the place that it is moved from; SignerAway."""
        if source.covers(project.ledger, project.trusted):
            self.trust(project, project.trusted)
        elif source.is_trusted(project.ledger):
            self.trust(project, "")

    def remember(
        self, project: Project, signed: Callable[[], Mapping[str, str]], *, is_begun: bool
    ) -> None:
        """Know that a ledger is here from now on, if this account can keep it."""
        if self.known is not None:
            with suppress(Unavailable):
                self.known.remember(
                    project.project,
                    project.ledger,
                    project.created_at,
                    digest=project.trusted,
                    is_begun=is_begun,
                    signed=signed,
                )

    def make(self, *, is_anew: bool = False) -> None:
        """Know that this account makes the database here, if it can keep it."""
        if self.known is not None:
            with suppress(Unavailable):
                self.known.make(is_anew=is_anew)

    def _find(self, ledger: str) -> str | None:
        with suppress(Unavailable):
            return self.known.trusted(ledger) if self.known is not None else None
        return None


def open_trusted(place: str, clock: Clock) -> TrustedPlace:
    """Return what this account has trusted in a place."""
    return TrustedPlace(known=_open_known(place), clock=clock)


def is_own(place: str) -> bool:
    """Return whether this account knows the database in a place as its own; not without a home."""
    with suppress(Unavailable):
        known = _open_known(place)
        return known is not None and known.is_own()
    return False


def known_places(state: Path, since: float = 0) -> Iterator[Path]:
    """Return the databases in files that this account knows, by the folder of its state; a file that cannot be read names none.

    since: only those of which it has learnt something since that time.
    """
    try:
        files = sorted((state / LEDGERS).iterdir())
    except OSError:
        return
    for file in files:
        with suppress(SignerAway, OSError):
            if file.stat().st_mtime < since:
                continue
            places = [Path(str(line.get("place", ""))) for line in _lines(file)]
            yield from (location for location in places if location.is_absolute())


@frozen
class Past:
    """What is known of the ledgers of a database in a file, where there is one and where there is none.

    known: None for an account without a home. placed: what the account's own signer remembers, by names. heads: the ledgers whose heads the
    repository has; empty where it cannot be that of this database.
    """

    database: Path
    known: KnownLedgers | None
    placed: Callable[[], Mapping[str, str]]
    heads: Callable[[], Iterable[KnownLedger]]

    @property
    def rescued(self) -> Path | None:
        """Where a copy goes of a database that is taken away while it is open."""
        return self.known and self.known.folder.with_name("rescued")

    def gone(
        self, project: str = "", find_content: Callable[[], object] | None = None
    ) -> LedgerGone | None:
        """Return the refusal to begin a ledger where others were; None where none was, or it is there.

        project: only this one's. find_content: what is there of it; without it, the database if it has bytes.
        """
        find_content = find_content or self._has_bytes
        if find_content():
            return None
        lost = [entry for entry in self.missing() if project in {"", entry.project}]
        # A process that makes it meanwhile remembers it last: what is known may be newer than the first look.
        return self._refusal(lost) if lost and not find_content() else None

    def _has_bytes(self) -> bool:
        return self.database.exists() and bool(self.database.stat().st_size)

    def missing(self) -> list[KnownLedger]:
        """Return the ledgers that were here and are not gone on purpose, as far as anything remembers."""
        by_ledger: dict[str, KnownLedger] = {}
        with suppress(Unavailable):
            for origin, ledger in self.placed().items():
                by_ledger[ledger] = KnownLedger(ledger=ledger, project=origin.rpartition("/")[2])
        with suppress(Unavailable):
            for entry in self.heads():
                if self.known is None or not self.known.is_settled(entry.ledger):
                    by_ledger[entry.ledger] = entry
        if self.known is not None:
            with suppress(Unavailable):
                by_ledger |= {entry.ledger: entry for entry in self.known.here()}
                return [
                    entry
                    for entry in by_ledger.values()
                    if not self.known.is_forgotten(entry.ledger)
                ]
        return [*by_ledger.values()]

    def forget(self, gone: Collection[KnownLedger], reason: str, time: str) -> None:
        """Know that ledgers are gone, because a person said why."""
        if self.known is not None:
            self.known.forget(gone, reason, time)

    def _refusal(self, gone: Sequence[KnownLedger]) -> LedgerGone:
        saved = [*map(str, self.saved())]
        descriptions = " and ".join(
            f"{entry.project} ({entry.ledger}{f', since {entry.since}' if entry.since else ''})"
            for entry in gone
        )
        copies = f"; what a server still had of it is in {', '.join(saved)}" if saved else ""
        return LedgerGone(
            f"there is no ledger in {self.database.parent}, but there was one: {descriptions}{copies}",
            ledgers=[entry.ledger for entry in gone],
            saved=saved,
        )

    def saved(self) -> list[Path]:
        """Return the copies of this database that were made when it was taken away while a process had it open."""
        folder = self.rescued
        return sorted(folder.glob(f"{short_name(str(self.database))}-*.db")) if folder else []


def open_past(
    database: Path,
    placed: Callable[[], Mapping[str, str]],
    heads: Callable[[], Iterable[KnownLedger]],
) -> Past:
    """Return what is known of the ledgers of a database; what is asked for is asked when one is missing."""
    return Past(database=database, known=_open_known(str(database)), placed=placed, heads=heads)


def _open_known(place: str) -> KnownLedgers | None:
    with suppress(SignerAway):
        return KnownLedgers(folder=state_folder(os.environ) / LEDGERS, place=place)
    return None


def _trusted_in(lines: Iterable[Mapping[str, Any]], ledger: str) -> str | None:
    """Return the digest that lines of a place trust of a ledger, `*` for any; None if they do not trust it."""
    trusted = None
    for line in lines:
        if line.get("ledger") != ledger:
            continue
        if "reason" in line:
            trusted = None
        elif "how" not in line:
            trusted = _ANY if trusted is None else trusted
        elif line["how"] != MET:
            trusted = str(line.get("digest", ""))
    return trusted


def _mark_of(place: str) -> str:
    """Return what tells the file of a place from others; empty without one, as for a database on a server."""
    try:
        status = Path(place).stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in read_lines(file):
        try:
            yield canonical.object_of(canonical.load(line))
        except InvalidInput:
            # What cannot be read names no ledger: the others count.
            continue
