"""Output in bounded memory: nothing lost below the limit, both ends kept above it."""

from __future__ import annotations

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.evidence.running.transcript import Transcript

CHUNKS = st.lists(st.binary(max_size=40), max_size=30)
TEXTS = st.lists(st.text("aé☃𝄞", max_size=40), max_size=30)
MARKER = re.compile(r"\n\[([\d,]+) bytes left out\]\n")


def parse(chunks: list[bytes], limit: int) -> Transcript:
    """Answer a transcript of the chunks."""
    transcript = Transcript(limit)
    for chunk in chunks:
        transcript.hear(chunk)
    return transcript


@given(CHUNKS, st.integers(0, 200))
def test_every_byte_is_hashed_and_counted(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    found = parse(chunks, limit)
    assert (found.sha256, found.size) == (hashlib.sha256(whole).hexdigest(), len(whole))


@given(CHUNKS)
def test_below_the_limit_everything_is_kept(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert parse(chunks, len(whole)).text() == whole.decode("utf-8", "replace")


@given(TEXTS, st.integers(0, 300))
def test_above_the_limit_the_ends_and_the_count_are_right(texts: list[str], limit: int) -> None:
    whole = "".join(texts)
    size = len(whole.encode())
    found = parse([text.encode() for text in texts], limit).text()
    if size <= limit:
        assert found == whole
        return
    head, count, tail = MARKER.split(found)
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len((head + tail).encode()) + int(count.replace(",", "")) == size
    assert len(found.encode()) <= max(limit, len(found) - len(head + tail))


def test_memory_stays_bounded() -> None:
    """A long stream leaves no more behind than the limit twice over."""
    transcript = parse([b"x" * 1000] * 1000, 5000)
    assert len(transcript._head) + len(transcript._tail) <= 10_000
