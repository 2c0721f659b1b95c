"""Texts with a salt that never changes, and the commitments of texts that a store keeps."""

from __future__ import annotations

from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Reading, Salted, Writing
from counterpoint.kernel.canonical import commitment

SALT = bytes(range(16))


def salted(text: str) -> Salted:
    """Answer a text with the salt."""
    return Salted(SALT, text)


def committed(text: str) -> str:
    """Answer the commitment of a text."""
    return commitment(SALT, text)


def kept_as(view: Reading, text: str) -> str:
    """Answer the commitment under which a store keeps a text, the only one that says so."""
    (found,) = [kept.commitment for _, kept in view.texts() if kept.body == text]
    return found


def retitle(writing: Writing, item: str, title: str) -> None:
    """Give an item another title."""
    writing.keep({committed(title): salted(title)})
    writing.change(Item, {"id": item}, {"title": committed(title)})


class Kept(dict[str, Salted]):
    """Texts by their commitments, as a writing keeps them."""

    def keep(self, text: str) -> str:
        """Keep a text; answer its commitment."""
        self[committed(text)] = salted(text)
        return committed(text)
