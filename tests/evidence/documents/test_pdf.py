"""PDFs that are read, and those that are refused."""

from __future__ import annotations

import importlib.util
import zlib

import pytest

from counterpoint.evidence.documents import pdf
from counterpoint.kernel.errors import InvalidInput, Unavailable
from fakes.pdfs import made


def test_each_page_is_read() -> None:
    """In their order, as text."""
    assert [page.strip() for page in pdf.read(made("Retry with backoff", "The cache"))] == [
        "Retry with backoff",
        "The cache",
    ]


def test_what_is_damaged_is_refused() -> None:
    """It begins like a PDF and is none."""
    with pytest.raises(InvalidInput, match="damaged"):
        pdf.read(b"%PDF-1.4\nnothing of it")


def test_what_unpacks_to_gigabytes_is_refused() -> None:
    """A few megabytes of zeros, packed twice: the process that reads has a limit."""
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(b"( ) Tj " * 1_000_000) for _ in range(300)) + packer.flush()
    assert len(bomb) < 5_000_000
    with pytest.raises(InvalidInput):
        pdf.read(made("x", packed=bomb))


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants them gives the document in parts."""
    with pytest.raises(InvalidInput, match="more than 2,000 pages"):
        pdf.read(made(*["x"] * 2_001))
    monkeypatch.setattr(pdf, "_PATIENCE", 0.0)
    with pytest.raises(InvalidInput, match="takes longer"):
        pdf.read(made("x"))


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match="pypdf") as refused:
        pdf.read(made("x"))
    assert "counterpoint[documents]" in refused.value.hint
