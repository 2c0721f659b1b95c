"""Citations of a report, held against what was really taken up.

Rule 1: a number in brackets stands if there is a source of it; else it goes, and is told. Rule 2: an address stands if it is that of a source. Rule 3: which sources there are is
written here, never by a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.dialects.foundry.rules.research.deep import Source, normal

_CITED: Final = re.compile(r" ?\[(\d{1,4}(?:\s*[,;]\s*\d{1,4}){0,50})\](?!\()")
_LINK: Final = re.compile(r"\[([^\[\]\n]{0,300})\]\(\s*<?([^()\s<>]{1,2000})>?[^()\n]{0,200}\)")
_ADDRESS: Final = re.compile(r"https?://[^\s<>\[\]()\"'`|]{1,2000}")
_LISTED: Final = re.compile(
    r"^#{1,6}\s*(?:sources|references|bibliography|citations|works cited)\s*:?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_TELLING: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A report whose citations lead to sources. cited: their numbers; removed: what led nowhere."""

    text: str
    cited: tuple[int, ...]
    removed: tuple[str, ...]


def checked(report: str, sources: Sequence[Source]) -> Checked:
    """Return a report without citations and addresses of what was never taken up, and which these were."""
    numbers = {source.number for source in sources}
    addresses = {normal(source.url): source.number for source in sources}
    cited, removed = list[int](), list[str]()

    def number(match: re.Match[str]) -> str:
        cited_numbers = [int(digits) for digits in re.findall(r"\d+", match[1])]
        present = [cited_number for cited_number in cited_numbers if cited_number in numbers]
        cited.extend(present)
        removed.extend(
            f"[{cited_number}]" for cited_number in cited_numbers if cited_number not in numbers
        )
        blank = " " if match[0].startswith(" ") else ""
        return f"{blank}[{', '.join(map(str, present))}]" if present else ""

    def link(match: re.Match[str]) -> str:
        source_number = addresses.get(normal(match[2]))
        if source_number is None:
            removed.append(match[2])
        words = match[1].strip()
        message = "" if words.isdecimal() else words
        return message if source_number is None else f"{message} [{source_number}]".strip()

    def address(match: re.Match[str]) -> str:
        url = match[0].rstrip(".,;:!?")
        source_number = addresses.get(normal(url))
        if source_number is None:
            removed.append(url)
        punctuation = match[0][len(url) :]
        return punctuation if source_number is None else f"[{source_number}]{punctuation}"

    listed = _LISTED.search(report)
    own = report[: listed.start()] if listed else report
    text = _CITED.sub(number, _ADDRESS.sub(address, _LINK.sub(link, own))).strip()
    return Checked(
        text=text,
        cited=tuple(sorted(set(cited))),
        removed=tuple(dict.fromkeys(removed)),
    )


def with_sources(checked: Checked, sources: Sequence[Source]) -> str:
    """Return a report with the sources that it cites, and what was removed of it."""
    lines = [checked.text, "", "## Sources", ""]
    for source in sources:
        if source.number in checked.cited:
            how = "" if source.is_fetched else " (not fetched: as a search told it)"
            lines.append(f"[{source.number}] {source.title} — {source.url}{how}")
    if not checked.cited:
        lines.append("The report cites none.")
    if checked.removed:
        some = ", ".join(checked.removed[:_TELLING])
        lines += ["", f"Removed, for nothing of it was ever read: {some}."]
    return "\n".join(lines)
