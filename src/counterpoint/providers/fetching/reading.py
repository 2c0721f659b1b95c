"""What a page says: its bytes unpacked within limits, and its text."""

from __future__ import annotations

import codecs
import html
import re
import zlib
from collections.abc import Iterable
from typing import Final

from counterpoint.core.rules.documents import extract
from counterpoint.kernel.errors import PageFailed

ENCODINGS: Final = "gzip, deflate"
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
PDF: Final = "application/pdf"
_PLAIN: Final = re.compile(
    r"text/(?:plain|markdown|x-markdown|csv|xml|x-rst)|application/(?:json|xml|ld\+json|atom\+xml|rss\+xml)"
)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_META: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_TITLE: Final = re.compile(
    r"<title[^>]{0,200}>(.{0,1000}?)</title\s{0,9}>", re.IGNORECASE | re.DOTALL
)
_BLOCK: Final = re.compile(
    r"<(?=/?(?:p|div|h[1-6]|li|ul|ol|dl|dt|dd|tr|table|br|hr|section|article|main|header|footer|nav|aside|pre|blockquote|figure|body)[\s/>])",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|ascii|(?:iso-?)?8859-?\d+|latin-?1|cp125\d|koi8-[ru]|gb(?:k|2312|18030)|big5(?:hkscs)?|shift_?jis|euc_?(?:jp|kr)",
)
_HEAD: Final = 4_096
_GAPS: Final = re.compile(r"\n{3,}")
_NO_TAG: Final = re.compile(r"<(?!/?[a-zA-Z]|[!?])")
_TITLED: Final = 50_000
"""Within so many characters of a page its title is looked for."""
_LONGEST_TITLE: Final = 300


def media_type(head: str) -> str:
    """Return the content type that a head names, without its parameters; PageFailed for one that is not read."""
    kind = head.partition(";")[0].strip().lower() or "text/html"
    if kind not in {*_HTML, PDF} and not _PLAIN.fullmatch(kind):
        raise PageFailed(f"pages of the content type {kind[:80]!r} are not read")
    return kind


def unpacked(parts: Iterable[bytes], encoding: str, most: int) -> bytes:
    """Return what parts of a page unpack to; PageFailed for more bytes than may be, before or after, and for what cannot be unpacked."""
    name = encoding.strip().lower()
    if name not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise PageFailed(f"the page is packed as {name[:40]!r}, which nobody asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if name not in {"", "identity"} else None
    content, sent = bytearray(), 0
    for part in parts:
        sent += len(part)
        if sent > most:
            raise _large(most)
        try:
            content += part if unpack is None else unpack.decompress(part, most + 1 - len(content))
        except zlib.error as fault:
            raise PageFailed("the page cannot be unpacked") from fault
        if len(content) > most or (unpack is not None and unpack.unconsumed_tail):
            raise _large(most)
    if unpack is not None and sent and not unpack.eof:
        raise PageFailed("the page broke off")
    return bytes(content)


def text_of(content: bytes, kind: str, head: str) -> tuple[str, str]:
    """Return title and text of a page; the title is empty where it has none. head: its content type as it was sent."""
    text = content.decode(_charset(content, head), errors="replace").replace("\0", "")
    if kind not in _HTML:
        return "", text.replace("\r\n", "\n")
    match = _TITLE.search(text, 0, _TITLED)
    title = " ".join(html.unescape(match[1]).split())[:_LONGEST_TITLE] if match else ""
    # Pages are sent without the line breaks that they are shown with.
    untitled = text[: match.start()] + text[match.end() :] if match else text
    broken = _BLOCK.sub("\n<", _NO_TAG.sub("&lt;", untitled))
    extracted = extract("page.html", broken.encode(errors="replace")).text
    return title, _GAPS.sub("\n\n", extracted).strip()


def _charset(content: bytes, head: str) -> str:
    """Return the encoding that a page says it has, if it is one of texts."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    match = _CHARSET.search(head)
    meta = _META.search(content[:_HEAD])
    name = match[1] if match else meta[1].decode("ascii") if meta else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    return codec if _KNOWN.fullmatch(codec) else "utf-8"


def _large(most: int) -> PageFailed:
    return PageFailed(f"the page is larger than {most} bytes")
