"""PDFs that are read, and those that are refused."""

from __future__ import annotations

import importlib.util
import os
import zlib
from pathlib import Path

import pytest

from counterpoint.core.ports.evidence import READING
from counterpoint.evidence.documents import pdf
from counterpoint.kernel.errors import InvalidInput, Unavailable
from fakes.pdfs import made, read_endlessly


def read(content: bytes) -> list[str]:
    """Answer the pages of a PDF for which nobody is in a hurry."""
    return pdf.read(content, None, READING)


def test_each_page_is_read() -> None:
    """In their order, as text."""
    assert [page.strip() for page in read(made("Retry with backoff", "The cache"))] == [
        "Retry with backoff",
        "The cache",
    ]


def test_what_is_damaged_is_refused() -> None:
    """It begins like a PDF and is none."""
    with pytest.raises(InvalidInput, match="damaged"):
        read(b"%PDF-1.4\nnothing of it")


def test_pages_of_pictures_are_refused() -> None:
    """A passage of nothing would be found by its number alone; one page with a word is enough."""
    with pytest.raises(InvalidInput, match="has no text"):
        read(made("", " "))
    assert len(read(made("", "word"))) == 2


def test_half_a_sign_is_no_sign() -> None:
    """Fonts say which signs their letters are, and strangers make fonts: what is no Unicode could not be kept."""
    font = b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <41> <D800> endbfchar endcmap end"
    table = b"9 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (len(font), font)
    said = made("ABA").replace(b"/BaseFont /Helvetica", b"/BaseFont /Helvetica /ToUnicode 9 0 R")
    (page,) = read(said.replace(b"xref\n", table + b"xref\n", 1))
    assert "B" in page
    assert page.encode().decode() == page


def packed_often(block: bytes, times: int) -> bytes:
    """Pack so many repetitions of a block (RFC 1950), and pack only one of them: to pack all takes six seconds."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    body = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    prime, own, whole = 65_521, zlib.adler32(block), 1
    for _ in range(times):
        low = (whole & 0xFFFF) + (own & 0xFFFF) - 1
        high = (whole >> 16) + (own >> 16) + len(block) * ((whole & 0xFFFF) - 1)
        whole = high % prime << 16 | low % prime
    end = b"\x03\x00"  # an empty last block
    return head + body * times + end + whole.to_bytes(4)


def test_repetitions_are_packed_as_they_unpack() -> None:
    """Else what is made of them would be refused for its damage."""
    assert zlib.decompress(packed_often(b"some words", 7_000)) == b"some words" * 7_000


def test_what_unpacks_to_gigabytes_is_refused() -> None:
    """A few megabytes of zeros, packed twice: the process that reads has a limit."""
    bomb = packed_often(b"( ) Tj " * 1_000_000, 300)
    assert len(bomb) < 5_000_000
    with pytest.raises(InvalidInput):
        read(made("x", packed=bomb))


def test_too_many_pages_are_refused() -> None:
    """Whoever wants them gives the document in parts."""
    with pytest.raises(InvalidInput, match="more than 2,000 pages"):
        read(made(*["x"] * 2_001))


def test_what_takes_longer_than_it_may_is_refused() -> None:
    """Where no time is left at all nothing is begun."""
    with pytest.raises(InvalidInput, match="takes longer to read than 0 seconds"):
        pdf.read(made("x"), None, 0.0)


class Gone(Exception):
    """Whoever waited has left."""


def test_who_leaves_while_it_is_read_ends_the_process_that_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And its turn is another's."""
    number = read_endlessly(monkeypatch, tmp_path)

    def watch(words: str) -> None:
        assert words == "reading a PDF"
        if number.exists():
            raise Gone

    for _ in range(3):
        number.unlink(missing_ok=True)
        with pytest.raises(Gone):
            pdf.read(made("x"), watch, READING)
        with pytest.raises(ProcessLookupError):
            os.kill(int(number.read_text()), 0)


def test_who_leaves_while_others_are_read_has_none_begun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    number = read_endlessly(monkeypatch, tmp_path)
    heard: list[str] = []

    def watch(words: str) -> None:
        heard.append(words)
        raise Gone

    with pdf._TURN, pdf._TURN, pytest.raises(Gone):
        pdf.read(made("x"), watch, READING)
    assert heard == ["waiting for other PDFs to be read"]
    assert not number.exists()


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match="pypdf") as refused:
        read(made("x"))
    assert "counterpoint[documents]" in refused.value.hint
