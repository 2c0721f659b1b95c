"""Which of the pages that a search found are read first, by what is researched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from counterpoint.dialects.foundry.nouns.research import ResearchMode
from counterpoint.kernel.canonical import Json

_ACADEMIC: Final = re.compile(
    r"(?:.*\.)?(?:arxiv|doi|semanticscholar|openreview|aclanthology|jstor|plos|acm|ieee|pnas|biorxiv|medrxiv)\.org"
    r"|(?:.*\.)?(?:nature|springer|sciencedirect|wiley|science)\.com|.*\.nih\.gov|.*\.edu(?:\.[a-z]{2})?|.*\.ac\.[a-z]{2}"
)
_TECHNICAL: Final = re.compile(
    r"(?:docs?|developers?|dev|api|learn|manual|wiki)\..*|(?:.*\.)?(?:github|gitlab|stackoverflow|stackexchange|superuser|serverfault)\.com"
    r"|.*\.(?:github|gitlab|readthedocs)\.io|docs\.rs|(?:.*\.)?(?:python|rust-lang|kernel|postgresql|sqlite|ietf|rfc-editor|w3|mozilla|whatwg)\.org"
)


def ranked(results: Sequence[Mapping[str, Json]], mode: ResearchMode) -> list[Mapping[str, Json]]:
    """Return results as they are read: those of the mode first, and otherwise as the search has them."""
    return (
        sorted(results, key=lambda result: not _is_of(result, mode))
        if mode != "general"
        else [*results]
    )


def _is_of(result: Mapping[str, Json], mode: ResearchMode) -> bool:
    if mode == "academic" and result.get("kind") == "academic":
        return True
    host = urlsplit(str(result["url"])).netloc.lower().partition(":")[0]
    return bool((_ACADEMIC if mode == "academic" else _TECHNICAL).fullmatch(host))
