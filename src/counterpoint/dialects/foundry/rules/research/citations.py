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
    numbers = {one.number for one in sources}
    addresses = {normal(one.url): one.number for one in sources}
    cited, removed = list[int](), list[str]()

    def number(found: re.Match[str]) -> str:
        said = [int(one) for one in re.findall(r"\d+", found[1])]
        there = [one for one in said if one in numbers]
        cited.extend(there)
        removed.extend(f"[{one}]" for one in said if one not in numbers)
        blank = " " if found[0].startswith(" ") else ""
        return f"{blank}[{', '.join(map(str, there))}]" if there else ""

    def link(found: re.Match[str]) -> str:
        known = addresses.get(normal(found[2]))
        if known is None:
            removed.append(found[2])
        words = found[1].strip()
        said = "" if words.isdecimal() else words
        return said if known is None else f"{said} [{known}]".strip()

    def address(found: re.Match[str]) -> str:
        url = found[0].rstrip(".,;:!?")
        known = addresses.get(normal(url))
        if known is None:
            removed.append(url)
        rest = found[0][len(url) :]
        return rest if known is None else f"[{known}]{rest}"

    listed = _LISTED.search(report)
    own = report[: listed.start()] if listed else report
    text = _CITED.sub(number, _ADDRESS.sub(address, _LINK.sub(link, own))).strip()
    return Checked(
        text=text,
        cited=tuple(sorted(set(cited))),
        removed=tuple(dict.fromkeys(removed)),
    )


def with_sources(found: Checked, sources: Sequence[Source]) -> str:
    """Return a report with the sources that it cites, and what was removed of it."""
    lines = [found.text, "", "## Sources", ""]
    for one in sources:
        if one.number in found.cited:
            how = "" if one.is_fetched else " (not fetched: as a search told it)"
            lines.append(f"[{one.number}] {one.title} — {one.url}{how}")
    if not found.cited:
        lines.append("The report cites none.")
    if found.removed:
        some = ", ".join(found.removed[:_TELLING])
        lines += ["", f"Removed, for nothing of it was ever read: {some}."]
    return "\n".join(lines)
