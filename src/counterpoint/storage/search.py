"""What full-text search reads of each noun, and how a searched text becomes words.

Rules: (1) a searched word is quoted: nothing in it is syntax. (2) Words are joined by OR without the
stop words; the last one, or each if asked so, also matches as a beginning. (3) A title counts four
times as much as a body. Which columns are read, and how a hit is named, is said by each noun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from counterpoint.core.model.rows import Noun, prose_columns
from counterpoint.storage.statements import keyed, listed, prose, row_key

_COMMON_WORDS = """
a about an and are as at be but by can do for from has have how i if in into is it its me my no not of
on or our so that the their then there these they this to was we were what when where which who why
will with you your
"""
STOP_WORDS = frozenset(_COMMON_WORDS.split())
"""Words that say too little to be searched for."""

_MOST_WORDS = 32
_PREFIX_FROM = 3


class Narrowed(NamedTuple):
    """Which hits are asked for: of some kinds, about an item, a page of them.

    begun: every word also matches as a beginning, not only the last. hides: whether there are plans under way.
    """

    kinds: tuple[str, ...] = ()
    item: str = ""
    begun: bool = False
    limit: int = 20
    offset: int = 0
    hides: bool = False


class Document(NamedTuple):
    """What is indexed of one row; about: what a hit in it is about."""

    title: str
    body: str
    about: str
    kind: str


@cache
def watched(noun: type[Noun]) -> tuple[str, ...]:
    """Return the columns whose change makes a row be indexed again; none if it is not searched."""
    source = noun.searched
    if source is None:
        return ()
    return (*source.title, source.body, source.about, *([source.kind] if source.kind else ()))


@cache
def watched_row(noun: type[Noun]) -> str:
    """Return the statement that reads the watched columns of one row as they are kept."""
    return f"SELECT {listed(watched(noun))} FROM {noun.table} AS t WHERE {keyed(noun)}"


def holders(noun: type[Noun], many: int) -> tuple[str, int]:
    """Return the statement that finds the rows with any of so many texts in a searched column.

    With it how often it takes the texts. It reads the whole table once, however many they are.
    """
    prose_names = [name for name in watched(noun) if name in prose_columns(noun)]
    marks = ", ".join("?" * many)
    where = " OR ".join(f'"{name}" IN ({marks})' for name in prose_names)
    return (
        f"SELECT {listed(row_key(noun))} FROM {noun.table} WHERE project = ? AND ({where})",
        len(prose_names),
    )


@cache
def document(noun: type[Noun]) -> str:
    """Return the statement that reads what is indexed of one row: title, body, what about, kind."""
    source = noun.searched
    if source is None:
        raise AssertionError(f"{noun.table} is not searched")
    title = " || '\n' || ".join(_shown(noun, name) for name in source.title) or "''"
    kind = f't."{source.kind}"' if source.kind else f"'{noun.__name__.lower()}'"
    return (
        f"""SELECT {title}, {_shown(noun, source.body)}, t."{source.about}", {kind}"""
        f" FROM {noun.table} AS t WHERE {keyed(noun)}"
    )


@cache
def all_documents(noun: type[Noun]) -> tuple[str, int]:
    """Return the statement that reads what is indexed of all rows, and how many columns the key has.

    Its answer: the project, the key, then what `document` reads.
    """
    read = document(noun).removeprefix("SELECT ").removesuffix(f" WHERE {keyed(noun)}")
    key = row_key(noun)
    key_list = "".join(f't."{name}", ' for name in ("project", *key))
    return f"SELECT {key_list}{read}", len(key)


def document_of(
    noun: type[Noun], cells: Mapping[str, Any], texts: Mapping[str, str]
) -> Document | None:
    """Return what is indexed of a row as it is kept; None if its text is not among those at hand."""
    source = noun.searched
    if source is None:
        raise AssertionError(f"{noun.table} is not searched")
    proses = prose_columns(noun)
    words: list[str] = []
    for name in (*source.title, source.body):
        cell = cells[name]
        text = texts.get(cell) if cell and name in proses else cell
        if text is None:
            return None
        words.append(text)
    kind = cells[source.kind] if source.kind else noun.__name__.lower()
    return Document("\n".join(words[:-1]), words[-1], cells[source.about], kind)


def _shown(noun: type[Noun], name: str) -> str:
    """Return the expression for what a column says; nothing where a text is gone."""
    return f"coalesce({prose(name)}, '')" if name in prose_columns(noun) else f't."{name}"'


def telling(words: Sequence[str], *, begun: bool) -> list[tuple[str, bool]]:
    """Return the words that say enough to be searched for, each with whether it may be a beginning."""
    parts = [part for word in words for part in word.replace("\0", " ").split()]
    # A question made of stop words alone is still a question.
    chosen = ([part for part in parts if part.lower() not in STOP_WORDS] or parts)[:_MOST_WORDS]
    last = len(chosen) - 1
    return [(part, begun or index == last) for index, part in enumerate(chosen)]


def is_long(word: str) -> bool:
    """Return whether a word is long enough to stand for all that begin with it."""
    return len(word) >= _PREFIX_FROM
