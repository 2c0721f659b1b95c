"""Receipts of texts that were taken away."""

from __future__ import annotations

from typing import ClassVar, Literal

from counterpoint.core.model.rows import Agent, Digest, Id, Name, Names, Noun, Number, Time
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

ANYWHERE = "*"
"""Stands for a row where texts are taken away wherever they are."""

ErasureState = Literal["begun", "clean", "left", "unsearched"]


@frozen
class Erasure(Noun):
    """What was taken away, where it is gone, and where it may still be.

    place: the row that lost its texts, or `*`. sought: of `*`, the commitment of a hash of what is taken away, by which
    the receipt goes on; the hash is a text, and goes when the receipt ends. status: `begun` until all that the program keeps was
    searched; `unsearched` if nobody had the words any more to look for.
    texts: how many texts the entries with the fact `erasure` took away. looked_for: for how many words
    was looked. tries: how often it was begun; one that was cut off goes on in the next.
    cleaned: places in which nothing is left. beyond: places that nobody here can reach. left: where
    the words still stand.
    """

    table: ClassVar[str] = "erasures"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "x"
    indexes: ClassVar[tuple[str, ...]] = ("number",)

    id: Id
    number: Number
    place: Name
    sought: Digest = ""
    status: ErasureState = "begun"
    texts: int = 0
    looked_for: int = 0
    tries: int = 1
    cleaned: Names = ()
    beyond: Names = ()
    left: Names = ()
    agent: Agent
    begun_at: Timestamp
    ended_at: Time = ""
