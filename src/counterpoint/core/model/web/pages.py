"""A page of the web as it was fetched, and within which limits."""

from __future__ import annotations

from counterpoint.kernel.frozen import frozen


@frozen
class PageLimits:
    """What fetching a page may take. size: bytes of it, as they are sent and unpacked; pdf_size: of a PDF. redirects: how many are followed.

    seconds: until it is there; whole: until it is read too.
    """

    seconds: float = 20.0
    whole: float = 50.0
    size: int = 2_000_000
    pdf_size: int = 10_000_000
    redirects: int = 5


@frozen
class Page:
    """A page: where it was asked for, where it was in the end, and what it says.

    kind: its content type. size: bytes, unpacked. text: what is read of it; Markdown of a page of HTML. content: what is still to be read, of a PDF.
    """

    url: str
    final_url: str
    kind: str
    title: str
    text: str
    size: int
    content: bytes = b""
