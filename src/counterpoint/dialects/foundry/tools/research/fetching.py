"""Pages of the web, as the tool of research tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.core.model.web.pages import Page
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.foundry.envelope import code_of, present
from counterpoint.dialects.foundry.tools.research import words
from counterpoint.dialects.foundry.tools.research.shown import CONTENT, TITLE
from counterpoint.dialects.foundry.verbs.research.pages import Extracting
from counterpoint.dialects.paging import clip, part_of_text, sparse
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

INVALID_URL: Final = "INVALID_URL"
_URL: Final = 500


@action(reads=True, open_world=True, hidden=("offset",))
def extract(call: Call, progress: Progress, urls: words.Urls, offset: words.Offset = 0) -> Json:
    """Fetch pages as text."""
    extracting = call.core.use(lambda context: Extracting(context, watching(progress)))
    fetched = extracting.extract(urls)
    faults = [(url, fault) for url, fault in fetched if isinstance(fault, CounterpointError)]
    pages = [page for _, page in fetched if isinstance(page, Page)]
    failed: list[Json] = [_fault(url, fault) for url, fault in faults]
    if not pages:
        first = faults[0][1]
        first.facts = {**first.facts, "error_code": _code(first), "failed": failed}
        raise first
    chars = CONTENT // len(fetched)
    results = [_page(page, offset, chars) for page in pages]
    is_cut = any("next_offset" in fields for fields in results)
    message = "A page is cut: ask for it alone with `offset`, the number in `next_offset`."
    warnings = [DATA, *([message] if is_cut else [])]
    return present(
        sparse(results=list[Json](results), count=len(results), failed=failed), warnings=warnings
    )


def _page(page: Page, offset: int, chars: int) -> Mapping[str, Json]:
    text, end = part_of_text(page.text, offset).cut(chars)
    return sparse(
        url=clip(page.url, _URL),
        final_url=clip(page.final_url, _URL) if page.final_url != page.url else None,
        title=clip(page.title, TITLE),
        content_type=page.kind,
        content=str(text),
        characters=len(page.text),
        next_offset=end if isinstance(end, int) else None,
    )


def _fault(url: str, fault: CounterpointError) -> Json:
    return {"url": clip(url, _URL), "error_code": _code(fault), "error": clip(fault.message, TITLE)}


def _code(fault: CounterpointError) -> str:
    """Return the code of why a page was not fetched."""
    return INVALID_URL if isinstance(fault, InvalidInput) else code_of(fault)


FETCHING: Final = (extract,)
"""The actions, in the order of the list."""
