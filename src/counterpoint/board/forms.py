"""What a form of the board says: its fields, read as texts, numbers, lines and items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.core.model.work import PRIORITIES
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.kernel.errors import InvalidInput, NotFound

_NUMBER_DIGITS: Final = 15
TYPED: Final = {
    "title": "Title",
    "body": "Text",
    "text": "Text",
    "reason": "Reason",
    "fixes": "What to fix",
    "summary": "Summary",
    "acceptance": "Done when",
    "areas": "Files and folders",
    "checks": "Commands",
}
"""Fields in which people write, with the words for them; what they wrote is shown again when an act is refused."""


def read_number(text: str) -> int | None:
    """Return the number that a text is, in digits alone; None for any other text, and for one that is too long."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _NUMBER_DIGITS
    return int(text) if is_number else None


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of an act. subject: the id that the path names."""

    subject: str
    fields: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a text; empty without one."""
        return self.fields.get(name, "").replace("\r\n", "\n").strip()

    def number(self, name: str) -> int:
        """Return a number; InvalidInput."""
        number = read_number(self.fields.get(name, ""))
        if number is None:
            raise InvalidInput(
                "the form does not say what its page showed", hint="Load the page again."
            )
        return number

    def need(self, name: str, what: str) -> str:
        """Return a text that must be there; InvalidInput."""
        if not (words := self.text(name)):
            raise InvalidInput(f"{what} is missing", hint="Go back, say it, and send it again.")
        return words

    def lines(self, name: str) -> tuple[str, ...]:
        """Return the lines of a text that say something."""
        return tuple(line.strip() for line in self.text(name).split("\n") if line.strip())

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a text, divided by blanks or commas."""
        return tuple(dict.fromkeys(self.text(name).replace(",", " ").split()))

    def items(self, core: Core, name: str) -> tuple[str, ...]:
        """Return the ids of items that are named; NotFound."""
        return tuple(self._id_of(core, word) for word in self.words(name))

    def item(self, core: Core, name: str) -> str:
        """Return the id of the item that is named; empty without one, NotFound."""
        word = self.text(name)
        return self._id_of(core, word) if word else ""

    def _id_of(self, core: Core, word: str) -> str:
        item = core.items.named(word)
        if item is None:
            raise NotFound(
                f"there is no item {word[:60]!r}", hint="Name items by their ids or numbers."
            )
        return item.id

    def priority(self) -> int:
        """Return the priority; InvalidInput."""
        if self.text("priority") not in {str(number) for number in PRIORITIES}:
            raise InvalidInput(
                f"a priority is {PRIORITIES[0]} to {PRIORITIES[-1]}",
                hint="Go back, choose one, and send it again.",
            )
        return int(self.text("priority"))

    def checks(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands of checks, one a line, read as those of a plan; InvalidInput names all that cannot be taken."""
        read = [(line, *command_of(line)) for line in self.lines("checks")]
        if faults := [f"{line!r}: {fault}" for line, _, fault in read if fault]:
            raise InvalidInput(
                f"a check cannot be taken: {'; '.join(faults)}",
                hint="Give a program and its words, as it is started without a shell.",
            )
        return tuple(argv for _, argv, _ in read)
