"""Opens what other programs wrote: bounded, inside of what was named, no links."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import EINVAL, ELOOP
from pathlib import Path
from typing import Final, cast

from counterpoint.core.model.foreign import Remark
from counterpoint.core.rules.wording import few
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import MalformedDocument, NotFound

FILE_LIMIT: Final = 200_000_000
"""Bytes of one file that holds many items."""
TEXT_LIMIT: Final = 4_000_000
"""Bytes of one file that holds one item, or one list."""
FILES_LIMIT: Final = 50_000
"""Files of one folder."""
_DEPTH: Final = 100
_CELL: Final = 1_000_000


def source_error(where: str, problem: str, hint: str = "") -> MalformedDocument:
    """Return the refusal of a source, with the place that is at fault."""
    return MalformedDocument(
        f"this cannot be imported: {where}: {problem}",
        hint=hint or "Mend it there, or take it out, and repeat it.",
        faults=[{"where": where, "problem": problem}],
    )


def loss_of(fault: MalformedDocument) -> Remark:
    """Return what was refused of a source as a remark, for an import that carries on."""
    faults = fault.facts.get("faults")
    first = object_of(cast("list[Json]", faults)[0]) if isinstance(faults, list) and faults else {}
    problem = text_in(first, "problem") or fault.message
    return Remark(f"{problem}, so it is left out", text_in(first, "where"), "loss")


def remark_on_documents(files: Sequence[str], tool: str) -> str:
    """Return the remark on documents of a project that are no tasks, with what to do about them."""
    is_one = len(files) == 1
    return (
        f"{few(files)} {'is a document and no task, so it is' if is_one else 'are documents and no tasks, so they are'}"
        f" not imported; keep {'it' if is_one else 'them'} as {'a file' if is_one else 'files'} when you leave {tool},"
        f" and name {'it' if is_one else 'them'} in the tasks that need {'it' if is_one else 'them'}"
    )


def read_text(path: Path, name: str = "", limit: int = TEXT_LIMIT) -> str:
    """Return the text of a file; NotFound, and MalformedDocument for what is no plain file of text of that size."""
    name = name or path.name or str(path)
    try:
        with os.fdopen(_opened(path), "rb") as opened:
            data = opened.read(limit + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)!r}", hint="Name one that is there.") from None
    except OSError as fault:
        is_link = fault.errno == ELOOP
        problem = "it is a link: name what it leads to" if is_link else fault.strerror or fault
        raise source_error(name, f"it cannot be read: {problem}") from fault
    if len(data) > limit:
        raise source_error(name, f"it has more than {limit:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise source_error(f"{name}, line {line}", "it is not UTF-8") from fault


def _opened(path: Path) -> int:
    """Open a plain file, and nothing that is reached by a link or that could make the reader wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(EINVAL, "it is a folder" if stat.S_ISDIR(mode) else "it is no plain file")
    return descriptor


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that was named: only what really lies in it is read."""

    path: Path

    def texts(self, below: str, suffix: str, remarks: list[Remark]) -> Iterator[tuple[str, str]]:
        """Return the files of a folder in it with a suffix, by name, each with its text; a file that cannot be read is a remark."""
        for name in self.names(below):
            if name.endswith(suffix) and not name.startswith("."):
                try:
                    text = self.text(below, name)
                except MalformedDocument as fault:
                    remarks.append(loss_of(fault))
                else:
                    yield f"{below}/{name}" if below else name, text

    def text(self, below: str, name: str) -> str:
        """Return the text of a file in it; NotFound, MalformedDocument."""
        self._refuse_links(below)
        return read_text(self.path / below / name, f"{below}/{name}" if below else name)

    def has(self, below: str, name: str) -> bool:
        """Return whether there is a plain file."""
        file = self.path / below / name
        return file.is_file() and not file.is_symlink()

    def names(self, below: str) -> Sequence[str]:
        """Return the names in a folder in it, sorted; nothing if there is none."""
        self._refuse_links(below)
        folder = self.path / below
        if not folder.is_dir():
            return ()
        names: list[str] = []
        for entry in folder.iterdir():
            names.append(entry.name)
            if len(names) > FILES_LIMIT:
                raise source_error(below or folder.name, f"it has more than {FILES_LIMIT:,} files")
        return sorted(names)

    def folders(self, below: str) -> Iterator[str]:
        """Return the names of the folders in a folder in it, links left out."""
        for name in self.names(below):
            folder = self.path / below / name
            if folder.is_dir() and not folder.is_symlink() and not name.startswith("."):
                yield name

    def _refuse_links(self, below: str) -> None:
        current = self.path
        for part in Path(below).parts:
            current /= part
            if part == ".." or current.is_symlink():
                raise source_error(below, "it leads out of the folder by a link")


def json_of(text: str, name: str, line: int = 0) -> Json:
    """Return the value of a JSON text, or of one line of a file; MalformedDocument with the line."""
    where = f"{name}, line {line}" if line else name
    try:
        value: Json = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as fault:
        number = line or fault.lineno
        raise source_error(f"{name}, line {number}", f"it is not JSON: {fault.msg}") from fault
    except (ValueError, RecursionError) as fault:
        raise source_error(where, f"it is not JSON that can be read: {fault}") from fault
    if _is_deep(value):
        raise source_error(where, f"it is nested deeper than {_DEPTH} levels")
    return value


def _no_number(word: str) -> Json:
    raise ValueError(f"{word} is no number of JSON")


def _is_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(_DEPTH):
        level = [inner for node in level for inner in _inside(node)]
        if not level:
            return False
    return True


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else []


def lines_of(text: str, name: str, remarks: list[Remark]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Return the objects of JSON Lines, each with its place; a line that is none is a remark."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            value = json_of(line, name, number) if len(line) < TEXT_LIMIT else None
        except MalformedDocument as fault:
            remarks.append(loss_of(fault))
            continue
        if isinstance(value, dict):
            yield where, object_of(cast("Json", value))
        else:
            problem = "it is no JSON object of a sensible size, so it is left out"
            remarks.append(Remark(problem, where, "loss"))


def rows_of(text: str, name: str, remarks: list[Remark]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Return the rows of a CSV text by its headings, each with its place; MalformedDocument where it is not CSV."""
    # It is one of the whole process: others count on what it was.
    before = csv.field_size_limit(_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        headings = [cell.strip() for cell in next(reader, list[str]())]
        for row in reader:
            if len(row) > len(headings):
                problem = "it has more cells than headings, so it is left out"
                remarks.append(Remark(problem, f"{name}, line {reader.line_num}", "loss"))
            elif any(row):
                yield f"{name}, line {reader.line_num}", dict(zip(headings, row, strict=False))
    except csv.Error as fault:
        raise source_error(f"{name}, line {reader.line_num}", f"it is not CSV: {fault}") from fault
    finally:
        csv.field_size_limit(before)


def text_in(values: Mapping[str, Json], *names: str) -> str:
    """Return the first of some fields that has a text or a number, as text."""
    for name in names:
        value = values.get(name)
        if isinstance(value, bool):
            continue
        if isinstance(value, (str, int, float)) and str(value).strip():
            return str(value).strip()
    return ""


def list_in(values: Mapping[str, Json], name: str) -> list[Json]:
    """Return a field that is a list; an empty one in place of anything else."""
    value = values.get(name)
    return cast("list[Json]", value) if isinstance(value, list) else []


def objects_in(values: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """Return the objects in a field that is a list."""
    return [object_of(part) for part in list_in(values, name) if isinstance(part, dict)]


def words_in(values: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """Return the texts and numbers in a field that is a list, or the one that it is."""
    value = values.get(name)
    parts = cast("list[Json]", value) if isinstance(value, list) else [value]
    return tuple(
        str(part).strip()
        for part in parts
        if isinstance(part, (str, int)) and not isinstance(part, bool) and str(part).strip()
    )


def sections(*parts: tuple[str, str]) -> str:
    """Return texts under headings as one description; what has no text is left out, the first has no heading."""
    texts = [
        f"## {heading}\n\n{text.strip()}" if heading else text.strip()
        for heading, text in parts
        if text.strip()
    ]
    return "\n\n".join(texts)


def sentences(text: str) -> tuple[str, ...]:
    """Return the entries of a list in a text, one a line, without their marks."""
    bare = (line.strip().lstrip("-*+ ") for line in text.splitlines())
    plain = (line.removeprefix("[ ] ").removeprefix("[x] ").removeprefix("[X] ") for line in bare)
    return tuple(line for line in plain if line)


def facts_of(values: Mapping[str, Json], **names: str) -> dict[str, str]:
    """Return what has no place here, under names of ours. names: our name → the field there."""
    return {ours: text for ours, theirs in names.items() if (text := text_in(values, theirs))}
