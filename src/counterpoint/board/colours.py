"""Colours of code in a difference: comments, texts, numbers and keywords of a language.

Rules: (1) from left to right, and no further than the end of the line: no text takes long. (A lexer of the usual library took
four seconds for twelve thousand hostile characters of Java, and thirteen megabytes.) (2) What stays open at the end of a line is
known to the next line of the same side, until the hunk ends. (3) The pieces of a line joined are the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

TokenKind = Literal["", "comment", "string", "number", "keyword"]
Piece = tuple[TokenKind, str]
"""A kind and a text."""

_C: Final = """break case catch class const continue default do else enum export extends false final finally for func function
go goto if implements import in instanceof interface let match new nil null package private protected public return static struct super
switch this throw throws true try type typeof undefined union unsafe use using var void volatile while with yield async await fn impl
mod mut pub ref self trait where defer chan map range select"""
_PYTHON: Final = """and as assert async await break case class continue def del elif else except finally for from global if import in is
lambda match None nonlocal not or pass raise return True False try while with yield self"""
_SHELL: Final = """if then else elif fi for in do done while until case esac function return export local set unset readonly exit
FROM RUN COPY ADD ENV ARG WORKDIR USER ENTRYPOINT CMD EXPOSE begin end def module require unless nil true false class"""
_SQL: Final = """select from where and or not null insert into values update set delete create table index view primary key references
unique check default join left right inner outer on group by order having limit offset as distinct union all exists in is like case
when then else end begin commit rollback alter drop add column with returning"""


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes comments and texts. block: the marks of a comment of several lines. long: quotes of texts of several lines."""

    keywords: frozenset[str]
    comment: tuple[str, ...] = ()
    block: tuple[str, str] | None = None
    long: tuple[str, ...] = ()
    is_caseless: bool = False


_BRACES: Final = Language(frozenset(_C.split()), ("//",), ("/*", "*/"), ("`",))
_SCRIPT: Final = Language(frozenset(_SHELL.split()), ("#",))
_LANGUAGES: Final = {
    "py pyi bzl": Language(frozenset(_PYTHON.split()), ("#",), None, ('"""', "'''")),
    "c h cc cpp hpp cs go java js jsx mjs cjs ts tsx kt rs scala swift dart php proto zig": _BRACES,
    "css scss less": Language(frozenset(), (), ("/*", "*/")),
    "sh bash zsh rb pl mk yml yaml toml ini cfg conf tf dockerfile makefile gitignore r": _SCRIPT,
    "sql": Language(frozenset(_SQL.split()), ("--",), ("/*", "*/"), (), is_caseless=True),
    "lua hs": Language(frozenset(_C.split()), ("--",)),
    "json": Language(frozenset({"true", "false", "null"})),
    "html xml svg vue": Language(frozenset(), (), ("<!--", "-->")),
}
_BY_SUFFIX: Final = {
    suffix: language for suffixes, language in _LANGUAGES.items() for suffix in suffixes.split()
}


def language_of(path: str) -> Language | None:
    """Return the language of a file by its name; None for one that is not known."""
    name = path.rpartition("/")[2].lower()
    return _BY_SUFFIX.get(name.rpartition(".")[2])


class Colours:
    """What is coloured of the lines of one side, one after the other."""

    def __init__(self, language: Language) -> None:
        """Begin with nothing open."""
        self._language = language
        self._open = ""

    def begin(self) -> None:
        """Begin a hunk: what the lines left out leave open is not known."""
        self._open = ""

    def pieces(self, line: str) -> list[Piece]:
        """Return a line in pieces."""
        pieces: list[Piece] = []
        for kind, text in self._scan(line):
            if pieces and pieces[-1][0] == kind:
                pieces[-1] = kind, pieces[-1][1] + text
            elif text:
                pieces.append((kind, text))
        return pieces

    def _scan(self, line: str) -> Iterator[Piece]:
        start = 0
        if self._open:
            end = line.find(self._open)
            start = len(line) if end < 0 else end + len(self._open)
            is_comment = self._language.block is not None and self._open == self._language.block[1]
            yield "comment" if is_comment else "string", line[:start]
            if end < 0:
                return
            self._open = ""
        search = _pattern(self._language).search
        while match := search(line, start):
            yield "", line[start : match.start()]
            start = match.end()
            block = self._language.block
            closing = block[1] if block is not None and match["block"] else match["long"]
            if not closing:
                yield self._kind(match), match[0]
                continue
            end = line.find(closing, start)
            self._open = "" if end >= 0 else closing
            start = len(line) if end < 0 else end + len(closing)
            yield "comment" if match["block"] else "string", line[match.start() : start]
        yield "", line[start:]

    def _kind(self, match: re.Match[str]) -> TokenKind:
        for kind in ("comment", "string", "number"):
            if match[kind]:
                return kind
        word = match[0].lower() if self._language.is_caseless else match[0]
        return "keyword" if word in self._language.keywords else ""


@lru_cache(maxsize=16)
def _pattern(language: Language) -> re.Pattern[str]:
    """Return what finds the next piece; no alternative goes back over what it has read."""

    def group(name: str, texts: tuple[str, ...], after: str = "") -> str:
        choices = "|".join(map(re.escape, texts)) or "(?!)"
        return f"(?P<{name}>(?:{choices}){after})"

    block = (language.block[0],) if language.block else ()
    return re.compile(
        "|".join(
            (
                group("block", block),
                group("comment", language.comment, ".*"),
                group("long", language.long),
                r"""(?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')""",
                r"(?P<number>(?<!\w)\d\w*+)",
                r"(?P<word>[^\W\d]\w*+)",
            )
        )
    )
