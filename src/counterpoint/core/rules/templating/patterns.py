r"""Patterns for values: regular expressions that take no longer for any text.

A pattern is of RE2's notation and matches a text if and only if it matches the whole of it. Sets and
classes such as `\w` are of ASCII; lookarounds and backward references are refused.

A pattern comes from a file anybody may have written, and an engine that backtracks can be made to take
years by one of them. RE2 takes a time that grows with the text alone; what a pattern grows to inside of
it is limited here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from counterpoint.kernel.errors import InvalidInput

TEXT_LIMIT: Final = 500
"""Letters that a text may have to be matched."""
SIZE_LIMIT: Final = 10_000
"""Instructions that a pattern may become; a part that is repeated counts each time."""
_LENGTH_LIMIT: Final = 500


class Pattern:
    """A pattern that was read."""

    def __init__(self, text: str) -> None:
        """Read a pattern; InvalidInput says what is wrong with it."""
        if len(text) > _LENGTH_LIMIT:
            raise InvalidInput(f"the pattern is longer than {_LENGTH_LIMIT} characters")
        import re2  # few commands meet a pattern, and all would wait for it

        options = re2.Options()
        options.log_errors = False  # a fault is told to the caller, never to standard error
        options.never_capture = True
        try:
            self._compiled = re2.compile(text, options)
        except (re2.error, UnicodeEncodeError) as fault:
            raise InvalidInput(
                f"the pattern cannot be read: {_words(fault)}",
                hint="Letters, sets, groups, `|` and repeats of up to 1,000 are understood.",
            ) from fault
        if self.size > SIZE_LIMIT:
            raise InvalidInput(
                "the pattern is too large", hint="Repeat less in it, or use a `charset`."
            )

    @property
    def size(self) -> int:
        """How many instructions it became."""
        return self._compiled.programsize

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text, of at most `TEXT_LIMIT` letters."""
        # Half a character has no UTF-8, but is refused elsewhere and in better words.
        return self._compiled.fullmatch(text.encode("utf-8", "surrogatepass")) is not None


def _words(fault: Exception) -> str:
    """Return what an error of the engine says, which it gives as bytes."""
    message = fault.args[0] if fault.args else ""
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(fault)


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Return the pattern of a text, which is read once; InvalidInput says what is wrong with it."""
    return Pattern(text)
