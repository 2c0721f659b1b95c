r"""Memory files: their names and sizes, and which of them a later session is given.

A file is valid if and only if (1) its name matches `[a-zA-Z0-9_-]+\.md` and has at most 100 characters,
(2) its content has at most 10,000. A session is given the newest files first, at most 20 and 50,000
characters in all; a file that no longer fits is left out and named, and a smaller one may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterpoint.kernel.errors import InvalidInput

NAME_LIMIT = 100
CONTENT_LIMIT = 10_000
OFFERED_FILES = 20
OFFERED_CHARACTERS = 50_000
_NAME = re.compile(r"[a-zA-Z0-9_-]+\.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A memory file: where it is kept, its name, its content, when it was written last."""

    scope: str
    name: str
    content: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSelection:
    """The files a session is given, newest first, and those left out."""

    pages: tuple[Page, ...] = ()
    left_out: tuple[Page, ...] = ()


def check(name: str, content: str) -> None:
    """Raise InvalidInput with every fault of a memory file."""
    faults: list[str] = []
    if _NAME.fullmatch(name) is None:
        faults.append(f"{name!r} is no name of a memory file: letters, digits, - and _, then .md")
    if len(name) > NAME_LIMIT:
        faults.append(f"the name has {len(name)} characters, but may have {NAME_LIMIT}")
    if len(content) > CONTENT_LIMIT:
        faults.append(f"the content has {len(content)} characters, but may have {CONTENT_LIMIT}")
    if faults:
        raise InvalidInput(
            "; ".join(faults), hint="Name it like `codebase-notes.md`; split what is too long."
        )


def select_pages(
    pages: Iterable[Page], *, files: int = OFFERED_FILES, characters: int = OFFERED_CHARACTERS
) -> PageSelection:
    """Return which files are given to a session within its budget."""
    selected: list[Page] = []
    left_out: list[Page] = []
    budget = characters
    for page in newest_first(pages):
        fits = len(selected) < files and len(page.content) <= budget
        (selected if fits else left_out).append(page)
        budget -= len(page.content) if fits else 0
    return PageSelection(pages=tuple(selected), left_out=tuple(left_out))


def newest_first(pages: Iterable[Page]) -> Sequence[Page]:
    """Return files by the time they were written last, then by scope and name."""
    by_name = sorted(pages, key=lambda page: (page.scope, page.name))
    return sorted(by_name, key=lambda page: page.updated_at, reverse=True)
