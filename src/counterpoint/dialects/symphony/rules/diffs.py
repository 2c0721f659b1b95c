r"""Reading a unified diff as git writes it.

    diff --git a/OLD b/NEW                     one for each file; names with odd letters are quoted
    old mode · new mode · index · similarity index · dissimilarity index
    new file mode · deleted file mode · rename from/to · copy from/to
    --- a/OLD                                  `/dev/null` for an added file
    +++ b/NEW                                  `/dev/null` for a deleted file
    @@ -LINE[,COUNT] +LINE[,COUNT] @@ …        then exactly so many lines: ` ` both, `-` old, `+` added
    \ No newline at end of file                counts as nothing
    Binary files … differ · GIT binary patch   a file whose lines are not counted

A text is valid if and only if (1) it is empty or has a `diff --git` line, (2) every hunk has as many
lines as its head says, (3) no added or deleted line stands outside of a hunk, (4) every file has a
name, (5) it is no combined diff (`diff --cc`, `@@@`) of a merge. What stands before the first file is
passed over. A name is what the header says twice, or what the rename, `---` or `+++` lines say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from counterpoint.kernel.errors import MalformedDocument

DiffKind = Literal["added", "modified", "deleted", "renamed", "copied"]
NOWHERE = "/dev/null"
_FILE = "diff --git "
_COMBINED = ("diff --cc ", "diff --combined ")
_HUNK = re.compile(
    r"@@ -\d{1,12}(?:,(\d{1,12}))? \+\d{1,12}(?:,(\d{1,12}))? @@(?: |\r?$)", re.ASCII
)
_BINARY = re.compile(r"Binary files .* differ|GIT binary patch")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_TWO_QUOTED = re.compile(rf"{_QUOTED.pattern} {_QUOTED.pattern}")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13}
_PREFIX = re.compile(r"[a-z]/")
_SIGNATURE = "-- "
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffFile:
    """One file of a diff; `previous` is where a renamed or copied file comes from.

    additions and deletions are 0 if the file is binary.
    """

    path: str
    kind: DiffKind = "modified"
    previous: str = ""
    additions: int = 0
    deletions: int = 0
    is_binary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """All files of a diff, in its order."""

    files: tuple[DiffFile, ...] = ()

    @property
    def additions(self) -> int:
        """How many lines were added."""
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        """How many lines were taken away."""
        return sum(file.deletions for file in self.files)

    @property
    def lines(self) -> int:
        """How many lines changed in all."""
        return self.additions + self.deletions

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the diff touches, old names of renamed files included, each once."""
        names = (
            name
            for file in self.files
            for name in (file.path, file.previous if file.kind == "renamed" else "")
        )
        return tuple(dict.fromkeys(name for name in names if name))


def parse(text: str) -> Diff:
    """Return the files of a diff; MalformedDocument names every line that cannot be read."""
    reader = _Reader()
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        reader.read(number, line)
    reader.end()
    if text.strip() and not reader.files and not reader.faults:
        reader.faults.append((1, f"no line begins with `{_FILE.strip()}`"))
    if reader.faults:
        raise _malformed(reader.faults)
    return Diff(files=tuple(reader.files))


def _malformed(faults: Iterable[tuple[int, str]]) -> MalformedDocument:
    listed = [{"line": line, "problem": problem} for line, problem in faults]
    excerpt = "; ".join(f"line {f['line']}: {f['problem']}" for f in listed[:_FAULTS_SHOWN])
    return MalformedDocument(
        f"the diff cannot be read: {excerpt}",
        hint="Give the whole output of `git diff`, as it was printed.",
        faults=listed[:_FAULTS_SHOWN],
    )


class _Reader:
    """What has been read of a diff so far."""

    def __init__(self) -> None:
        """Begin before the first file."""
        self.files: list[DiffFile] = []
        self.faults: list[tuple[int, str]] = []
        self._began = 0
        self._header: dict[str, str] = {}
        self._counted = {"+": 0, "-": 0}
        self._left = {"+": 0, "-": 0}
        self._hunk = 0
        self._is_binary = False

    def read(self, number: int, line: str) -> None:
        """Take the next line."""
        if self._hunk and any(self._left.values()) and self._read_counted(number, line):
            return
        if line.startswith(_COMBINED):
            self.faults.append((number, "a combined diff of a merge has no single old side"))
            self._forget()
        elif line.startswith(_FILE):
            self.end()
            self._began = number
            self._header = _names(line[len(_FILE) :].rstrip("\r"))
        elif self._began:
            self._read_about(number, line)

    def end(self) -> None:
        """Close the file that is being read, if there is one."""
        if self._hunk and any(self._left.values()):
            self.faults.append((self._hunk, "the hunk has fewer lines than its head says"))
        elif self._began:
            self._close()
        self._forget()

    def _forget(self) -> None:
        self._began, self._hunk, self._is_binary = 0, 0, False
        self._header = {}
        self._counted = {"+": 0, "-": 0}
        self._left = {"+": 0, "-": 0}

    def _read_counted(self, number: int, line: str) -> bool:
        """Take a line of a hunk; answer False if it cannot be one."""
        # Mailers and editors strip the blank of an empty line that both sides have.
        sign = line[:1].strip("\r") or " "
        if sign == "\\":
            return True
        sides = {" ": "+-", "+": "+", "-": "-"}.get(sign, "")
        if not sides or any(self._left[side] == 0 for side in sides):
            self.faults.append((number, "the line does not fit the head of its hunk"))
            self._forget()
            return False
        for side in sides:
            self._left[side] -= 1
        if len(sides) == 1:
            self._counted[sign] += 1
        return True

    def _read_about(self, number: int, line: str) -> None:
        """Take a line of a file that stands outside of its hunks."""
        if line.startswith("@@"):
            self._open_hunk(number, line)
        elif self._hunk:
            if line.startswith(("+", "-")) and line.rstrip("\r") != _SIGNATURE:
                self.faults.append((number, "an added or deleted line stands outside of a hunk"))
                self._forget()
        elif _BINARY.match(line):
            self._is_binary = True
        else:
            self._read_header(line.rstrip("\r"))

    def _open_hunk(self, number: int, line: str) -> None:
        head = _HUNK.match(line)
        if head is None:
            self.faults.append((number, "the head of the hunk cannot be read"))
            self._forget()
            return
        self._hunk = number
        self._left = {"-": int(head[1] or "1"), "+": int(head[2] or "1")}

    def _read_header(self, line: str) -> None:
        for start, name in _HEADERS.items():
            if line.startswith(start):
                self._header[name] = line[len(start) :]
                return

    def _close(self) -> None:
        old, name = _old_and_name(self._header)
        if not name:
            self.faults.append((self._began, "the names of the file cannot be told apart"))
            return
        kind = _kind(self._header)
        self.files.append(
            DiffFile(
                path=name,
                kind=kind,
                previous=old if kind in {"renamed", "copied"} else "",
                additions=self._counted["+"],
                deletions=self._counted["-"],
                is_binary=self._is_binary,
            )
        )


_HEADERS = {
    "rename from ": "from",
    "rename to ": "to",
    "copy from ": "from",
    "copy to ": "copy",
    "new file mode ": "added",
    "deleted file mode ": "deleted",
    "--- ": "minus",
    "+++ ": "plus",
}


def _kind(header: dict[str, str]) -> DiffKind:
    if "added" in header or header.get("minus") == NOWHERE:
        return "added"
    if "deleted" in header or header.get("plus") == NOWHERE:
        return "deleted"
    if "copy" in header:
        return "copied"
    return "renamed" if "to" in header else "modified"


def _old_and_name(header: dict[str, str]) -> tuple[str, str]:
    """Return where a file comes from and its name; the name is empty if it cannot be told."""
    moved = header.get("copy") or header.get("to")
    if moved:
        return _unquote(header.get("from", "")), _unquote(moved)
    if "name" in header:
        return "", header["name"]
    for side in ("plus", "minus"):
        name = _unquote(header.get(side, NOWHERE).split("\t")[0])
        if name != NOWHERE:
            return "", _PREFIX.sub("", name, count=1)
    return "", ""


def _names(text: str) -> dict[str, str]:
    """Return the name that a `diff --git` line gives twice; nothing if it gives two names."""
    if quoted := _TWO_QUOTED.fullmatch(text):
        first, other = (_unescape(part) for part in quoted.groups())
    else:
        middle = len(text) // 2
        first, other = text[:middle], text[middle + 1 :]
        if text[middle : middle + 1] != " ":
            return {}
    if first == other:
        return {"name": first}
    if _PREFIX.match(first) and _PREFIX.match(other) and first[2:] == other[2:]:
        return {"name": first[2:]}
    return {}


def _unquote(name: str) -> str:
    """Return a name without its quotes."""
    match = _QUOTED.fullmatch(name)
    return _unescape(match[1]) if match else name


def _unescape(text: str) -> str:
    r"""Return the text of a quoted name: `\303` is a byte, `\t` a tab; bad UTF-8 is marked."""

    def byte(escape: re.Match[bytes]) -> bytes:
        letter = escape[1]
        number = int(letter, 8) & 255 if len(letter) > 1 else _LETTERS.get(letter, letter[0])
        return bytes([number])

    return _ESCAPE.sub(byte, text.encode("utf-8", "replace")).decode("utf-8", "replace")
