"""Changes of others' files: what one is, should be, and how it is written."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import MalformedDocument, PathOutside, StoreReadOnly

BEGIN: Final = "<!-- counterpoint:begin -->"
END: Final = "<!-- counterpoint:end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one file is and should be; with a fault it is left, and `by_hand` says what to do to it.

    is_whole: nothing but what is ours stands in it, so that it goes with that.
    """

    path: Path
    before: str
    after: str
    fault: str = ""
    by_hand: str = ""
    note: str = ""
    is_whole: bool = False


def change(
    tree: Path, file: str, edit: Callable[[str], str], *, by_hand: str, note: str = ""
) -> Change:
    """Return the change that an edit makes of a file; one that cannot be made safely has a fault."""
    path, before = tree / file, ""
    try:
        before = _text(tree, path)
        return Change(path=path, before=before, after=edit(before), note=note)
    except (MalformedDocument, PathOutside) as fault:
        return Change(path=path, before=before, after=before, fault=fault.message, by_hand=by_hand)


def set_section(text: str, body: str) -> str:
    """Return the text with our section in it, in its old place or at the end; its lines end as those of the text do.

    MalformedDocument if the marks do not stand once each and in order.
    """
    newline = newline_of(text)
    lines = re.split(r"\r\n?|\n", body.strip())
    section = newline.join((BEGIN, *lines, END))
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        # The empty line tells `drop_section` that the text ended with a line of its own.
        gap = newline if text.strip() else ""
        return f"{text}{gap}{section}{newline}"
    begin, end = text.find(BEGIN), text.find(END)
    if (begins, ends) != (1, 1) or end < begin:
        raise MalformedDocument(f"the marks {BEGIN} and {END} do not stand once each, in order")
    return text[:begin] + section + text[end + len(END) :]


def drop_section(text: str) -> str:
    """Return the text as it was before our section came to its end; MalformedDocument as above."""
    if BEGIN not in text and END not in text:
        return text
    # Of the whole text it cannot be said: a return that stands at the end of the owner's goes together with our line.
    newline = "\r\n" if f"{BEGIN}\r\n" in text else "\n"
    marked = set_section(text, "")
    before, _, tail = marked.partition(BEGIN)
    after = tail.partition(END)[2].removeprefix(newline)
    if after.strip():
        return before + after
    return before.removesuffix(newline) if before.strip() else before


def newline_of(text: str) -> str:
    """Return how the lines of a text end: CRLF if any does."""
    return "\r\n" if "\r\n" in text else "\n"


def _text(tree: Path, path: Path) -> str:
    """Return a file's text with its line ends as they are, empty without a file.

    PathOutside if it is a link to elsewhere; MalformedDocument unless it is UTF-8 that can be read.
    """
    target = path.resolve()
    if not target.is_relative_to(tree.resolve()):
        raise PathOutside("the file is a link that leads out of the project")
    try:
        return target.read_bytes().decode() if target.exists() else ""
    except UnicodeDecodeError as fault:
        raise MalformedDocument("the file is not UTF-8") from fault
    except OSError as fault:
        raise MalformedDocument(f"it cannot be read ({fault.strerror})") from fault


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """Name the file in what the system refuses; StoreReadOnly."""
    try:
        yield
    except OSError as fault:
        raise StoreReadOnly(
            f"{path} cannot be written ({fault.strerror})",
            hint="Check the owner and the mode of the file and of its folder, then repeat it: what is written stays.",
        ) from fault


def write(path: Path, text: str) -> None:
    """Put a whole text in the place of a file, whose mode stays; a link keeps leading there. StoreReadOnly."""
    with _writing(path):
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        passing = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with passing.open("xb") as draft:
                draft.write(text.encode())
            if target.exists():
                shutil.copymode(target, passing)
            passing.replace(target)
        finally:
            passing.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file, and the folder it leaves empty; a link stays, and what it leads to is emptied. StoreReadOnly."""
    if path.is_symlink():
        write(path, "")
        return
    with _writing(path):
        path.unlink()
    with suppress(OSError):  # It has something else in it, or is the project itself.
        path.parent.rmdir()
