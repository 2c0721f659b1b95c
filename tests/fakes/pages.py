"""What a test reads of a page of the board."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        self.names.append(tag)
        self.attributes += [(name, words or "") for name, words in attrs]

    def handle_data(self, data: str) -> None:
        """Take a text."""
        self.text += f" {data}"


def words_of(page: Any) -> str:
    """Answer the text of a page on one line."""
    assert page.status_code == 200, page.text
    return " ".join(Elements(page.text).text.split())
