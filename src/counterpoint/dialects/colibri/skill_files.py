"""Skills in folders: `<root>/<name>/SKILL.md`, in several roots.

The first root that has a name wins. Each look costs one `stat` of each file; a file is read again if
and only if its place, size or times differ from those seen, or were so young when it was read that
a change could have left them as they are. A file is read only if, all links followed, it lies in the
project (or, for a root from the settings, in that root).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from counterpoint.core.ports.evidence import Evidence
from counterpoint.core.rules.frontmatter import TextFault
from counterpoint.dialects.colibri.rules.skills import Skill, SkillReport, SkippedFile, load_skill
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import CounterpointError

FILE = "SKILL.md"
ROOTS = (".agents/skills", ".claude/skills")
SIZE_LIMIT = 200_000
FOLDERS_LIMIT = 1_000

_SETTLED = 2_000_000_000
"""Nanoseconds after which another change is sure to show in the times of a file."""

Sign = tuple[int, ...]
Reading = Skill | tuple[TextFault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Root:
    """A folder of skills; `below` is the folder that its files may not lead out of."""

    label: str
    path: Path
    below: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a file said when it was read; without a sign it is read again at the next look."""

    sign: Sign | None
    digest: str
    reading: Reading


class SkillDirectory:
    """The skills of a project, from its own roots and then those of the settings."""

    def __init__(
        self, tree: Path, evidence: Evidence, clock: Clock, more: Sequence[str] = ()
    ) -> None:
        """Remember where to look; nothing is read before the first look."""
        own = [_Root(label=label, path=tree / label, below=tree) for label in ROOTS]
        further = [(label, tree / Path(label).expanduser()) for label in more]
        self._roots = (*own, *(_Root(label=label, path=at, below=at) for label, at in further))
        self._evidence = evidence
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[str, _Seen] = {}
        self._report: SkillReport | None = None

    def look(self) -> SkillReport:
        """Return every skill there is now, and what was skipped; reads again what has changed."""
        with self._lock:
            before, self._seen = self._seen, dict(self._files())
            report = self._report
            if report is None or _readings(before) != _readings(self._seen):
                labels = tuple(root.label for root in self._roots)
                report = self._report = _build_report(self._seen, labels, report)
            return report

    def _files(self) -> Iterator[tuple[str, _Seen]]:
        """Return every file, and every root that cannot be read, with what it says."""
        looked: set[str] = set()
        for root in self._roots:
            real = os.path.realpath(root.path)
            if real in looked:
                continue
            looked.add(real)
            try:
                names = sorted(entry.name for entry in root.path.iterdir())
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as fault:
                yield root.label, _skip(f"the folder cannot be read: {fault.strerror}")
                continue
            if len(names) > FOLDERS_LIMIT:
                problem = f"has {len(names)} entries; only {FOLDERS_LIMIT} are looked at"
                yield root.label, _skip(problem)
            for name in names[:FOLDERS_LIMIT]:
                printable = os.fsencode(name).decode(errors="replace")
                source = f"{root.label}/{printable}/{FILE}"
                seen = self._file(root, name, source)
                if seen is not None:
                    yield source, seen

    def _file(self, root: _Root, name: str, source: str) -> _Seen | None:
        """Return what a file says, from memory if it is as it was; None if there is none."""
        path = root.path / name / FILE
        try:
            status = path.stat()
        except OSError as fault:
            is_there = path.is_symlink() or not isinstance(
                fault, FileNotFoundError | NotADirectoryError
            )
            return _skip(f"cannot be read: {fault.strerror}") if is_there else None
        sign = (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        before = self._seen.get(source)
        if before is not None and before.sign == sign:
            return before
        is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED
        try:
            content = self._evidence.load(root.below, os.path.relpath(path, root.below), SIZE_LIMIT)
        except CounterpointError as fault:
            return _skip(fault.message)
        digest = sha256(content)
        if before is not None and before.digest == digest:
            reading = before.reading
        else:
            reading = self._load(content, name, source, digest)
        return _Seen(sign=sign if is_settled else None, digest=digest, reading=reading)

    def _load(self, content: bytes, folder: str, source: str, digest: str) -> Reading:
        try:
            text = content.decode()
        except UnicodeDecodeError as fault:
            line = content.count(b"\n", 0, fault.start) + 1
            return (TextFault(problem="is not UTF-8 text", line=line),)
        return load_skill(
            text, folder=folder, source=source, digest=digest, loaded_at=self._clock.now()
        )


def _skip(problem: str) -> _Seen:
    return _Seen(sign=None, digest="", reading=(TextFault(problem=problem),))


def _readings(seen: dict[str, _Seen]) -> dict[str, Reading]:
    return {source: file.reading for source, file in seen.items()}


def _build_report(
    seen: dict[str, _Seen], roots: tuple[str, ...], old: SkillReport | None
) -> SkillReport:
    skills: dict[str, Skill] = {}
    skipped: list[SkippedFile] = []
    for source, file in seen.items():
        reading = file.reading
        if not isinstance(reading, Skill):
            skipped.append(SkippedFile(source=source, faults=reading))
            continue
        first = skills.setdefault(reading.name, reading)
        if first is not reading:
            is_copy = first.digest == reading.digest
            problem = "is a copy of" if is_copy else f"the name {reading.name!r} is that of"
            fault = TextFault(problem=f"{problem} {first.source}, which comes first")
            skipped.append(SkippedFile(source=source, faults=(fault,)))
    gone = {skill.name for skill in old.skills} - set(skills) if old else set[str]()
    return SkillReport(
        skills=tuple(skills[name] for name in sorted(skills)),
        skipped=tuple(skipped),
        roots=roots,
        pruned=tuple(sorted(gone)),
    )
