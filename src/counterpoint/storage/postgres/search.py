"""Full-text search by tsvector over the same nouns and columns as in a file.

Rules: (1) a text is cut into words by us (letters and digits in a row, accents taken off); PostgreSQL
only takes their English stems, and no word is dropped. (2) A hit with more of the words comes first;
among those with as many, the title counts four times as much as the body. (3) The first 200,000
characters of a text are indexed: PostgreSQL takes 1 MiB.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Hit
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.search import Document, Narrowed, is_long, telling
from counterpoint.storage.statements import unhidden

_WORD = re.compile(r"[^\W_]+")
_INDEXED = 200_000
_LONGEST = 500
_WEIGHTS = "{0, 0, 0.25, 1}"

_INDEX = """
INSERT INTO documents (project, source, key, item, kind, words) VALUES (%s, %s, %s, %s, %s,
  setweight(to_tsvector('words', %s::text), 'A') || setweight(to_tsvector('words', %s::text), 'B'))
ON CONFLICT (project, source, key) DO UPDATE
SET item = excluded.item, kind = excluded.kind, words = excluded.words
"""
_STEMS = """
SELECT coalesce(array_to_string(
  (SELECT array_agg(stem[1] ORDER BY place) FROM unnest(string_to_array(word, ' ')) WITH ORDINALITY
   AS parts (part, place), ts_lexize('stems', part) AS stem), ' '), '')
FROM unnest(%s::text[]) WITH ORDINALITY AS words (word, turn) ORDER BY turn
"""
_UNINDEX = "DELETE FROM documents WHERE project = %s AND source = %s AND key = %s"


def plain_words(text: str) -> str:
    """Return the words of a text, apart by single spaces, in lower case and without accents."""
    apart = text[:_INDEXED].lower()
    if not apart.isascii():
        split = unicodedata.normalize("NFD", apart)
        apart = unicodedata.normalize("NFC", "".join(c for c in split if not _is_accent(c)))
    return " ".join(word[:_LONGEST] for word in _WORD.findall(apart))


def _is_accent(letter: str) -> bool:
    return unicodedata.combining(letter) != 0


def index(
    link: Link,
    project: str,
    noun: type[Noun],
    key: tuple[Cell, ...],
    document: Document | None,
) -> None:
    """Bring the index in step with one row; None: it is gone."""
    document_key = (project, noun.table, "/".join(map(str, key)))
    if document is None:
        link.execute(_UNINDEX, document_key)
        return
    title, body, item, kind = document
    link.execute(_INDEX, (*document_key, item, kind, plain_words(title), plain_words(body)))


def stems(link: Link, words: Sequence[str]) -> list[str]:
    """Return the stem of each word as the index has it; a word without one stays as it is."""
    plain = [plain_words(word) for word in words]
    rows = link.execute(_STEMS, (plain,)).fetchall()
    return [parts or word for word, (parts,) in zip(words, rows, strict=True)]


def questions(words: Sequence[str], *, begun: bool = False) -> list[str]:
    """Return one tsquery text for each searched word; none if there are none.

    Words inside of a searched word (as in `a-b`) must follow each other.
    begun: every word also matches as a beginning, not only the last.
    """
    queries: list[str] = []
    for word, may_begin in telling(words, begun=begun):
        split = plain_words(word).split()
        if split:
            end = ":*" if may_begin and is_long(split[-1]) else ""
            queries.append(" <-> ".join(f"'{part}'" for part in split) + end)
    return list(dict.fromkeys(queries))


def hits(
    link: Link,
    project: str,
    words: Sequence[str],
    narrowed: Narrowed,
) -> list[Hit]:
    """Return the documents of a project that have any of the words, best first.

    The key of a hit is the row's key without the project, joined by `/`.
    """
    queries = questions(words, begun=narrowed.begun)
    if not queries:
        return []
    only = " AND d.kind = ANY(%(kinds)s::text[])" if narrowed.kinds else ""
    only += " AND d.item = %(item)s" if narrowed.item else ""
    only += unhidden("d", "%(project)s") if narrowed.hides else ""
    had = " + ".join(
        f"(d.words @@ to_tsquery('words', %(q{n})s))::int" for n in range(len(queries))
    )
    values: dict[str, Any] = {f"q{n}": query for n, query in enumerate(queries)}
    values |= {"project": project, "any": " | ".join(f"({query})" for query in queries)}
    values |= narrowed._asdict() | {"kinds": list(narrowed.kinds)}
    rows = link.execute(
        (
            f"SELECT d.source, d.key, d.item, d.kind,"
            f" {had} + ts_rank('{_WEIGHTS}', d.words, q) AS score, d.id"
            " FROM documents AS d, to_tsquery('words', %(any)s) AS q"
            f" WHERE d.project = %(project)s AND d.words @@ q{only}"
            " ORDER BY score DESC, d.id LIMIT %(limit)s OFFSET %(offset)s"
        ).encode(),
        values,
    )
    return [
        Hit(table=source, key=key, item=about, kind=kind, score=float(score), number=number)
        for source, key, about, kind, score, number in rows
    ]
