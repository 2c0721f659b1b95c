"""Which ledgers were in the place of a database, even if none is left.

Layout: `ledgers/<name of the place>` in the folder of the user's state, a line for each ledger that was begun or met there, the
latest last, canonical JSON {"ledger", "place", "project", "time"}; with a "reason" it is gone, because a person said so.

1. It is written with the first entry of a ledger, by whoever writes that: the signer knows a ledger only once it was signed.
2. The last line of a project counts. What the signer of this account remembers of the place counts beside it, and for the default place the refs that the
   repository has (`refs/counterpoint/heads/`): the only memory of a container that has no home. Not those of ledgers that
   are known to be gone, or to be in another place that is still there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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
from counterpoint.kernel.errors import InvalidInput, LedgerGone, SignerAway, Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.places import LEDGERS, short_name


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
        last = {str(line.get("project")): line for line in _lines(self._file)}
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

    def remember(self, project: str, ledger: str, time: str) -> None:
        """Know from now on that a ledger is here; SignerAway."""
        if any((entry.project, entry.ledger) == (project, ledger) for entry in self.here()):
            return
        self._append([{"ledger": ledger, "project": project, "time": time}])

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
            whole = [canonical.dump({**line, "place": self.place}) for line in lines]
            append_lines(self._file, whole)


def known_places(state: Path) -> Iterator[Path]:
    """Return the databases in files that this account knows, by the folder of its state; a file that cannot be read names none."""
    try:
        files = sorted((state / LEDGERS).iterdir())
    except OSError:
        return
    for file in files:
        with suppress(SignerAway, OSError):
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

    def remember(self, project: Project) -> None:
        """Know that a ledger is here from now on, if this account can keep it."""
        if self.known is not None:
            with suppress(Unavailable):
                self.known.remember(project.project, project.ledger, project.created_at)

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
    known_ledgers = None
    with suppress(SignerAway):
        known_ledgers = KnownLedgers(folder=state_folder(os.environ) / LEDGERS, place=str(database))
    return Past(database=database, known=known_ledgers, placed=placed, heads=heads)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in read_lines(file):
        try:
            yield canonical.object_of(canonical.load(line))
        except InvalidInput:
            # What cannot be read names no ledger: the others count.
            continue
