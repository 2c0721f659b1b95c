"""Progress of a long verb, sent to the client step by step."""

from __future__ import annotations

from itertools import count

from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.paging import clip
from counterpoint.protocol.tools import Progress

_SENTENCE = 400
"""The most characters of one step."""


def watching(progress: Progress) -> Watch:
    """Return what a verb calls with a sentence: each is one more step, of an unknown number."""
    steps = count(1)

    def watch(words: str) -> None:
        progress(next(steps), None, clip(words, _SENTENCE))

    return watch
