"""Texts as numbers of tokens: the normalisation and WordPiece of BERT, uncased.

Rules: (1) control characters go, accents and case are taken off, each CJK character is a word. (2) A word ends at
blanks; each punctuation mark or symbol of ASCII is a word. (3) A word is cut into the longest pieces that the vocabulary
has, from its beginning on; a word with a part that it lacks is left out, and so is one of more than 100 characters.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Final

from counterpoint.kernel.matching.expressions import expression

_LONGEST: Final = 100
_READ: Final = 8_000
"""Characters of a text that are looked at: more than so many tokens as are asked for ever take."""
_MOST_KNOWN: Final = 50_000
"""Words whose pieces are remembered."""
_CJK: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ceaf\U0002f800-\U0002fa1f"
_ASCII: Final = expression(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_WORD: Final = expression(rf"[{_CJK}]|[^\W_{_CJK}]+|[^\w\s]|_")


class WordPiece:
    """A vocabulary, and the pieces of the words that were asked for."""

    def __init__(self, vocabulary: Path) -> None:
        """Read a vocabulary: a token on each line."""
        lines = vocabulary.read_text(encoding="utf-8").split("\n")
        self._tokens = {token: number for number, token in enumerate(lines) if token}
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """Return the numbers of the first tokens of a text."""
        numbers: list[int] = []
        for word in _words(text[:_READ]):
            pieces = self._known.get(word)
            if pieces is None:
                pieces = self._remembered(word)
            numbers += pieces
            if len(numbers) >= most:
                return numbers[:most]
        return numbers

    def _remembered(self, word: str) -> tuple[int, ...]:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        pieces = self._known[word] = self._pieces(word)
        return pieces

    def _pieces(self, word: str) -> tuple[int, ...]:
        numbers: list[int] = []
        start, prefix = 0, ""
        while start < len(word) <= _LONGEST:
            ends = range(len(word), start, -1)
            lengths = ((end, self._tokens.get(prefix + word[start:end])) for end in ends)
            start, number = next((pair for pair in lengths if pair[1] is not None), (0, None))
            if number is None:
                return ()
            numbers.append(number)
            prefix = "##"
        return tuple(numbers)


def _words(text: str) -> list[str]:
    small = text.lower()
    if small.isascii():
        return _ASCII.findall(small)
    apart = unicodedata.normalize("NFD", small)
    chars = (
        char
        for char in apart
        if unicodedata.category(char) not in {"Mn", "Cc", "Cf"} or char.isspace()
    )
    return _WORD.findall("".join(chars))
