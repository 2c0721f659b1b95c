"""What a project's configuration says of searches and of pages."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.web.searching import SearcherKind
from counterpoint.kernel.frozen import frozen

STUDY_LIMIT_MICROS: Final = 2_000_000
"""What one deep research may cost if nobody says otherwise: two dollars."""


@frozen
class SaidSearcher:
    """A provider of searches as a project says it; what is empty is as the product has it for this name.

    engine: the id of a search engine, for providers that have several. price: what a search costs, in millionths of a dollar; None: as
    the product has it. is_on: whether it is to be asked at all.
    """

    name: str
    kind: SearcherKind | None = None
    address: str = ""
    engine: str = ""
    price: int | None = None
    is_on: bool = True


@frozen
class Browsing:
    """Whom a project asks for searches, and which pages are fetched for it.

    order: names of providers, the first that can be asked is. fetches: whether public pages are fetched at all. hosts: `host:port` from
    which they are fetched too although the address is not public. study_limit: millionths of a dollar for one deep research.
    """

    order: tuple[str, ...] = ()
    searchers: tuple[SaidSearcher, ...] = ()
    fetches: bool = False
    hosts: tuple[str, ...] = ()
    study_limit: int = STUDY_LIMIT_MICROS
