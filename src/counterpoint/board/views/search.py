"""The page of the search by words and by meaning, with facets of the best hits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from counterpoint.board.pages import Answer
from counterpoint.core.model.answers import Found
from counterpoint.core.model.documents import Passage
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.errors import InvalidInput

HITS: Final = 100
"""How many of the best hits a search looks at."""
RESULTS: Final = 20
KNOWLEDGE: Final = ("decision", "learning", "finding")
"""Kinds of records that have a page of their own."""
FACETS: Final = (
    ("kind", "Kind"),
    ("phase", "Phase"),
    ("agent", "Agent"),
    ("label", "Label"),
    ("state", "State"),
)
_CHOICES: Final = 12
_SNIPPET: Final = 240
_LEVELS: Final = 4
_TEXTS: Final = ("body", "summary", "text", "reason")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Result:
    """One hit. parts: pieces of its text, each with whether it is a word that was asked for. values: what it has of each facet."""

    found: Found
    title: str
    parts: tuple[tuple[str, bool], ...]
    link: str
    item: Item | None
    values: Mapping[str, tuple[str, ...]]


class SearchReads(Verbs):
    """Reads of what hits have in common."""

    def results(self, hits: Sequence[Found], query: str) -> list[Result]:
        """Return hits with their items, and the values of their facets."""
        ids = {hit.item for hit in hits} | {hit.row.id for hit in hits if isinstance(hit.row, Item)}
        with self._context.reading() as view:
            items: dict[str, Item] = {}
            missing = tuple(filter(None, ids))
            for _ in range(_LEVELS):
                if not missing:
                    break
                items |= {item.id: item for item in view.select(Item, id=missing)}
                parents = {item.parent for item in items.values() if item.kind != "phase"}
                missing = tuple(parents - {""} - items.keys())
            labels: dict[str, list[str]] = {}
            for label in view.select(Label, item=tuple(filter(None, ids))) if ids else ():
                labels.setdefault(label.item, []).append(label.name)
        pattern = _matcher(query)
        return [_result(hit, items, labels, pattern) for hit in hits]


def _matcher(query: str) -> re.Pattern[str]:
    words = sorted({re.escape(word) for word in _WORD.findall(query)}, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(words)})\w*", re.IGNORECASE)


def _result(
    hit: Found,
    items: Mapping[str, Item],
    labels: Mapping[str, Sequence[str]],
    pattern: re.Pattern[str],
) -> Result:
    row = hit.row
    item = row if isinstance(row, Item) else items.get(hit.item)
    text = next((text for name in _TEXTS if (text := getattr(row, name, ""))), "")
    title = getattr(row, "title", "") or text.strip().partition("\n")[0]
    if isinstance(row, Passage):
        title = " / ".join((row.path, *row.headings))
    if title == text.strip():
        text = ""
    phase = item
    while phase is not None and phase.kind != "phase":
        phase = items.get(phase.parent)
    values = {
        "kind": (hit.kind,),
        "phase": (f"{phase.id} {phase.title[:60]}",) if phase else (),
        "agent": (agent,) if (agent := getattr(row, "agent", "") or "") else (),
        "label": tuple(labels.get(item.id, ())) if item else (),
        "state": (item.status,) if item else (),
    }
    return Result(hit, title, cut_snippet(text, pattern), _link(hit, item), item, values)


def _link(hit: Found, item: Item | None) -> str:
    row = hit.row
    if isinstance(row, Record) and row.kind in KNOWLEDGE:
        return f"/knowledge/{quote(row.id, safe='')}"
    if isinstance(row, Passage):
        anchor = f"?from={row.position}#passage-{row.position}"
        return f"/knowledge/{row.shelf}/{quote(row.path, safe='')}{anchor}"
    return f"/items/{quote(item.id, safe='')}" if item else ""


def cut_snippet(text: str, pattern: re.Pattern[str]) -> tuple[tuple[str, bool], ...]:
    """Return the pieces of a text around the first word that a pattern finds."""
    if not text:
        return ()
    match = pattern.search(text)
    start = max(0, (match.start() if match else 0) - _SNIPPET // 4)
    piece = " ".join(text[start : start + _SNIPPET].split())
    piece = f"{'… ' if start else ''}{piece}{' …' if len(text) > start + _SNIPPET else ''}"
    parts: list[tuple[str, bool]] = []
    end = 0
    for match in pattern.finditer(piece):
        parts += [(piece[end : match.start()], False), (match[0], True)]
        end = match.end()
    return (*parts, (piece[end:], False))


def count_values(results: Iterable[Result], name: str) -> list[tuple[str, int]]:
    """Return the values of a facet that results have most often, with how often."""
    counts = Counter(value for result in results for value in result.values[name])
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_CHOICES]


def read_search(answer: Answer) -> dict[str, Any]:
    """Return what fits the query, narrowed by the facets that it chose."""
    query = answer.query.get("q", "").strip()
    chosen = {name: value for name, _ in FACETS if (value := answer.query.get(name, ""))}
    results: list[Result] = []
    why = ""
    if query:
        # A kind is asked for in the search itself, so that it is found behind the best hits too.
        kinds = (chosen["kind"],) if "kind" in chosen else ()
        try:
            hits = answer.core.overview.search(query, kinds=kinds, limit=HITS)
        except InvalidInput as fault:
            hits, why = [], f"{fault.message}: {fault.hint}"
        if hits:
            results = answer.core.use(SearchReads).results(hits, query)
    fitting = [
        result
        for result in results
        if all(value in result.values[name] for name, value in chosen.items())
    ]
    start = answer.number("start")

    def address(first: int, name: str = "", value: str = "") -> str:
        fields = {"q": query, **chosen, **({name: value} if name else {}), "start": first or ""}
        return "/search?" + urlencode({name: text for name, text in fields.items() if text})

    return {
        "address": address,
        "query": query,
        "why": why,
        "chosen": chosen,
        "results": fitting[start : start + RESULTS],
        "total": len(fitting),
        "start": start,
        "step": RESULTS,
        "is_cut": len(results) == HITS,
        "looked_at": HITS,
        "facets": [
            (name, words, count_values(fitting, name))
            for name, words in FACETS
            if results or name in chosen
        ],
    }
