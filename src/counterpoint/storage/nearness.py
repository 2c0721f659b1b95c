"""Vectors as they are kept, and which of many are near one.

A vector is turned, so that each dimension says about as much as any other, and kept as a signed byte for each, the
largest being 127. What is searched is one bit for each, its sign, which this process holds for all vectors of a project and
model: of those that differ in the fewest bits the kept bytes are read and compared. The bits follow the table by the numbers of
its changes, so that a search reads what is new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from hashlib import sha256
from itertools import islice
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.storage.link import VectorChange, VectorTable

_WORD: Final = 64
_PAGE: Final = 1_000
_BLOCK: Final = 4_096
"""Vectors that are compared at once: what that takes for the moment stays small, for each thread keeps what it once took."""
_FAR: Final = 2**16 - 1
_GROWN: Final = 1.5
_N = TypeVar("_N", bound="np.generic[Any]")


def pack(vectors: Sequence[bytes]) -> list[bytes]:
    """Return vectors of little-endian float32 as they are kept; an empty one stays empty."""
    full = [vector for vector in vectors if vector]
    if not full:
        return [b""] * len(vectors)
    rows = _rotate(np.frombuffer(b"".join(full), "<f4").reshape(len(full), -1))
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-9)
    packed_rows = iter(np.rint(rows * (127 / largest)).astype(np.int8))
    return [next(packed_rows).tobytes() if vector else b"" for vector in vectors]


def signs(vector: bytes) -> str:
    """Return the signs of a vector of float32 as a kept one has them, a digit for each number."""
    turned = np.frombuffer(pack([vector])[0], np.int8)
    return "".join(np.where(turned > 0, "1", "0"))


def cosines(vector: bytes, packed: Sequence[bytes]) -> list[float]:
    """Return how near a vector of float32 is to each of some kept ones of as many dimensions."""
    if not packed:
        return []
    query = _rotate(np.frombuffer(vector, "<f4")[None])[0]
    rows = np.frombuffer(b"".join(packed), np.int8).reshape(len(packed), -1).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    similarities = np.einsum("ij,j->i", rows, query) / np.maximum(lengths, 1e-9)
    return similarities.tolist()


def _rotate(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors turned; angles between them stay.

    Not by BLAS, here and elsewhere: its threads would spin beside those that answer calls.
    """
    return np.einsum("ij,jk->ik", rows, _rotation(rows.shape[1]))


@cache
def _rotation(size: int) -> NDArray[np.float32]:
    """Return a cosine transform with signs that are as good as drawn: orthogonal, and the same for ever."""
    positions = np.arange(size)
    waves = np.cos(np.pi / size * np.outer(positions + 0.5, positions)) * np.sqrt(2 / size)
    waves[:, 0] /= np.sqrt(2)
    signs = np.frombuffer(
        b"".join(sha256(bytes([n % 256, n // 256])).digest()[:1] for n in range(size)), np.uint8
    )
    return (waves * np.where(signs & 1, 1, -1)[:, None]).astype(np.float32)


class Bits:
    """The signs of all vectors of a project and a model; safe to share between threads."""

    def __init__(self, dimensions: int) -> None:
        """Hold none yet; dimensions: how many numbers a vector has."""
        self._width = -(-dimensions // _WORD)
        self._dimensions = dimensions
        self._turn = 0
        self._size = 0
        self._numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self._bits: NDArray[np.uint64] = np.zeros((0, self._width), np.uint64)
        self._items: NDArray[np.int64] = np.zeros(0, np.int64)
        self._kinds: NDArray[np.int16] = np.zeros(0, np.int16)
        self._differing: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._names: dict[str, int] = {}
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._guard = Lock()

    def follow(self, table: VectorTable, model: str) -> None:
        """Take in what changed since the last time."""
        with self._guard:
            if table.last_turn(model) <= self._turn:
                return
            changes = table.changed(model, self._turn)
            while page := list(islice(changes, _PAGE)):
                self._apply_changes(page)
                self._turn = page[-1].turn

    def nearest(self, vector: bytes, *, kinds: Collection[str], item: str, many: int) -> list[int]:
        """Return the numbers of the documents whose signs differ least from those of a vector, in any order."""
        query_bits = self._signs(pack([vector]))[0]
        with self._guard:
            counts = np.zeros(self._width * _WORD + 1, np.int64)
            for start in range(0, self._size, _BLOCK):
                counts += self._compared(
                    slice(start, min(start + _BLOCK, self._size)), query_bits, kinds, item
                )
            limit = int(np.searchsorted(np.cumsum(counts), many))
            differing = self._differing[: self._size]
            if limit == counts.size:
                places = np.flatnonzero(differing != _FAR)
            else:
                nearer = np.flatnonzero(differing < limit)
                # Of those that differ in just as many bits some are left out.
                ties = np.flatnonzero(differing == limit)[: many - nearer.size]
                places = np.concatenate((nearer, ties))
            return self._numbers[places].tolist()

    def _compared(
        self, part: slice, query_bits: NDArray[np.uint64], kinds: Collection[str], item: str
    ) -> NDArray[np.int64]:
        """Compare some vectors; return how many of those that fit differ in how many bits."""
        fits = self._kinds[part] >= 0
        if kinds:
            kind_numbers = [self._names[kind] for kind in kinds if kind in self._names]
            fits &= np.isin(self._kinds[part], kind_numbers)
        if item:
            fits &= self._items[part] == hash(item)
        differing = np.bitwise_count(self._bits[part] ^ query_bits).sum(axis=1, dtype=np.uint16)
        self._differing[part] = np.where(fits, differing, _FAR)
        return np.bincount(differing[fits], minlength=self._width * _WORD + 1)

    def _apply_changes(self, page: Iterable[VectorChange]) -> None:
        """Take changes in: what is gone has no kind, and no bits."""
        # Several changes of one document are one, the last.
        last = {change.number: change for change in page}
        changes = list(last.values())
        numbers = np.array(list(last), np.int64)
        places = self._places(numbers)
        fresh = places < 0
        places[fresh] = np.arange(self._size, self._size + int(fresh.sum()))
        self._size += int(fresh.sum())
        self._grow()
        length = self._dimensions
        vectors = [
            change.vector if len(change.vector) == length else bytes(length) for change in changes
        ]
        has_vector = np.array([len(change.vector) == length for change in changes])
        self._numbers[places] = numbers
        self._bits[places] = self._signs(vectors) * has_vector[:, None].astype(np.uint64)
        self._items[places] = [hash(change.item) for change in changes]
        self._kinds[places] = [
            self._names.setdefault(change.kind, len(self._names)) if is_there else -1
            for change, is_there in zip(changes, has_vector, strict=True)
        ]
        if fresh.any():
            self._order = np.argsort(self._numbers[: self._size], kind="stable")

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where documents stand; -1 for those that are new."""
        if not self._order.size:
            return np.full(numbers.size, -1, np.int64)
        ranks = np.searchsorted(self._numbers[: self._order.size], numbers, sorter=self._order)
        places = self._order[np.minimum(ranks, self._order.size - 1)]
        return np.where(self._numbers[places] == numbers, places, -1)

    def _grow(self) -> None:
        """Make room for all that are held, and for some more."""
        if self._size <= len(self._numbers):
            return
        capacity = int(self._size * _GROWN)
        self._numbers = _enlarge(self._numbers, capacity)
        self._bits = _enlarge(self._bits, capacity)
        self._items = _enlarge(self._items, capacity)
        self._kinds = _enlarge(self._kinds, capacity)
        self._differing = np.zeros(capacity, np.uint16)

    def _signs(self, vectors: Sequence[bytes]) -> NDArray[np.uint64]:
        """Return a bit for the sign of each number of kept vectors, in whole words."""
        rows = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), self._dimensions)
        padding = self._width * _WORD - self._dimensions
        wide = np.pad(rows > 0, ((0, 0), (0, padding)))
        return np.packbits(wide, axis=1).view(np.uint64)


def _enlarge(array: NDArray[_N], capacity: int) -> NDArray[_N]:
    """Return an array with room for so many rows, of which those that are not used take no memory yet."""
    grown = np.zeros((capacity, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
