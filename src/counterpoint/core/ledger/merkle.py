"""Merkle trees after RFC 6962: roots, proofs, and how to check them.

Hashes. SHA-256 throughout, 32 raw bytes.
    leaf hash   SHA-256(0x00 || entry bytes)
    node hash   SHA-256(0x01 || left || right)
    empty tree  SHA-256 of nothing

Tree. The root of n > 1 leaves is the node hash of the root of the first k leaves and the root of
the others, where k is the largest power of two smaller than n (RFC 6962, section 2.1).

Nodes. Node (level, index) is the root of the 2^level leaves that start at leaf index * 2^level;
node (0, i) is the leaf hash of leaf i. Only complete subtrees have a node: it never changes once
it is there, so a store may keep it. Every root and every proof is made of such nodes.

Frontier. The roots of the complete subtrees of a tree, largest first: one for each set bit of the
size. It is all that an append needs. As bytes: the size in 8 bytes, big-endian, then the hashes;
valid if and only if (1) there are as many hashes as the size has set bits, (2) the size is below
2^63, (3) nothing follows.

Proofs are lists of hashes in the order in which the checker needs them, lowest first
(RFC 6962, section 2.1.1 and 2.1.2). Checking follows RFC 9162, section 2.1.3.2 and 2.1.4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from hashlib import sha256
from itertools import count, repeat

from counterpoint.kernel.errors import InvalidInput, MalformedDocument, ProofMismatch
from counterpoint.kernel.frozen import frozen

Node = tuple[int, int, bytes]
"""A complete subtree: level, index on that level, hash."""

ReadNode = Callable[[int, int], bytes]
"""Answers the hash of the node at a level and an index."""

HASH_SIZE = 32
EMPTY_ROOT = sha256(b"").digest()
_SIZE_BYTES = 8
_SIZE_LIMIT = 2**63


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf (RFC 6962, section 2.1)."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node above two others (RFC 6962, section 2.1)."""
    return sha256(b"\x01" + left + right).digest()


@frozen
class Frontier:
    """The edge of a tree: its size and the roots of its complete subtrees, largest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> tuple[Frontier, list[Node]]:
        """Return the edge after one more leaf hash, and the nodes above it that became complete."""
        return self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> tuple[Frontier, list[Node]]:
        """Return the edge after more leaf hashes, and the inner nodes that became complete.

        The nodes come level by level: so each level is made by one loop over the one below it.
        """
        row, before = list(leaves), list(self.hashes)
        size, position = self.size + len(row), self.size
        lowest: list[bytes] = []  # the new edge, smallest subtree first
        completed: list[Node] = []
        level = 0
        while row:
            # The first has its neighbour on the edge that was there.
            if position & 1:
                row.insert(0, before.pop())
                position -= 1
            # A last one without a neighbour waits on the edge for it.
            if len(row) & 1:
                lowest.append(row.pop())
            pairs = zip(row[::2], row[1::2], strict=True)
            row = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
            level, position = level + 1, position >> 1
            completed += zip(repeat(level), count(position), row)
        return Frontier(size=size, hashes=(*before, *reversed(lowest))), completed

    def root(self) -> bytes:
        """Return the root of the tree."""
        return _fold(self.hashes)

    def to_bytes(self) -> bytes:
        """Return the edge as bytes."""
        return self.size.to_bytes(_SIZE_BYTES, "big") + b"".join(self.hashes)

    @classmethod
    def from_bytes(cls, data: bytes) -> Frontier:
        """Return the edge that the bytes hold, no bytes that of the empty tree; MalformedDocument."""
        if not data:
            return cls()
        size = int.from_bytes(data[:_SIZE_BYTES], "big")
        if len(data) != _SIZE_BYTES + HASH_SIZE * size.bit_count() or size >= _SIZE_LIMIT:
            raise MalformedDocument("these bytes are not the edge of a Merkle tree")
        starts = range(_SIZE_BYTES, len(data), HASH_SIZE)
        return cls(size=size, hashes=tuple(data[start : start + HASH_SIZE] for start in starts))


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root of a list of leaf hashes."""
    frontier, _ = Frontier().extend(leaves)
    return frontier.root()


def nodes_of(leaves: Sequence[bytes]) -> ReadNode:
    """Return what reads the nodes of a tree that is not stored, from its leaf hashes."""

    def read(level: int, index: int) -> bytes:
        return root_of(leaves[index << level : (index + 1) << level])

    return read


def frontier_at(size: int, read: ReadNode) -> Frontier:
    """Return the edge that a stored tree had at an earlier size, in O(log size) reads."""
    return Frontier(size=size, hashes=tuple(_subtrees(0, size, read)))


def inclusion_proof(index: int, size: int, read: ReadNode) -> list[bytes]:
    """Return the path from a leaf to the root of the tree of a size (RFC 6962, section 2.1.1).

    Takes at most two reads a level. InvalidInput if the tree has no such leaf.
    """
    if not 0 <= index < size:
        raise InvalidInput(
            f"a tree of {size} leaves has no leaf {index}",
            hint=f"It has those from 0 to {size - 1}." if size else "It has none yet.",
            index=index,
            size=size,
        )
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _left_size(end - start)
        if index < middle:
            path.append(_fold(_subtrees(middle, end, read)))
            end = middle
        else:
            path.append(_fold(_subtrees(start, middle, read)))
            start = middle
    path.reverse()
    return path


def consistency_proof(first: int, second: int, read: ReadNode) -> list[bytes]:
    """Return the proof that one tree begins with another (RFC 6962, section 2.1.2).

    Takes at most two reads a level. Empty if the first is empty or both are the same; InvalidInput
    if the first is the larger one.
    """
    if not 0 <= first <= second:
        raise InvalidInput(f"a tree of {second} leaves does not begin with one of {first}")
    path: list[bytes] = []
    start, end = 0, second
    while first and first != end:
        middle = start + _left_size(end - start)
        if first <= middle:
            path.append(_fold(_subtrees(middle, end, read)))
            end = middle
        else:
            path.append(_fold(_subtrees(start, middle, read)))
            start = middle
    # The checker knows the first root already: a subtree that is the whole first tree is left out.
    if start:
        path.append(_fold(_subtrees(start, end, read)))
    path.reverse()
    return path


def extend_with_proof(before: Frontier, leaves: Sequence[bytes]) -> tuple[Frontier, list[bytes]]:
    """Return the edge after more leaf hashes, and the proof that its tree begins with the one of before.

    What the proof takes is on the edge that was there, or new.
    """
    after, completed = before.extend(leaves)
    nodes = {(0, before.size + at): leaf for at, leaf in enumerate(leaves)}
    nodes.update(((level, index), digest) for level, index, digest in completed)
    start = 0
    for digest in before.hashes:
        level = (before.size - start).bit_length() - 1
        nodes[level, start >> level] = digest
        start += 1 << level
    proof = consistency_proof(before.size, after.size, lambda level, at: nodes[level, at])
    return after, proof


def verify_inclusion(
    index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes
) -> None:
    """Pass if the path leads from the leaf hash to the root, else raise ProofMismatch.

    RFC 9162, section 2.1.3.2.
    """
    if not 0 <= index < size:
        raise ProofMismatch(f"a tree of {size} leaves has no leaf {index}", index=index, size=size)
    if not _all_hashes((leaf, *path)):
        raise ProofMismatch("the proof holds something that is not a hash of 32 bytes")
    position, last, digest = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise ProofMismatch("the inclusion proof is too long", index=index, size=size)
        if position & 1 or position == last:
            digest = node_hash(sibling, digest)
            position, last = _skip_missing_siblings(position, last)
        else:
            digest = node_hash(digest, sibling)
        position, last = position >> 1, last >> 1
    if last != 0 or digest != root:
        raise ProofMismatch(
            f"the proof does not lead from leaf {index} to the root of size {size}",
            hint="The entry, its place or the root is not what was proved; fetch a fresh proof.",
            index=index,
            size=size,
        )


def verify_consistency(
    first: int, second: int, first_root: bytes, second_root: bytes, path: Sequence[bytes]
) -> None:
    """Pass if the second tree begins with the first, else raise ProofMismatch.

    For whoever keeps checkpoints of their own and asks a server for the proof between two of them; the
    product makes such proofs and has none to check. RFC 9162, section 2.1.4.2; an empty first tree must have the empty root and an empty path.
    """
    if not 0 <= first <= second or not _all_hashes(path):
        raise ProofMismatch(f"this cannot prove that size {second} begins with size {first}")
    if first in (0, second):
        begin = EMPTY_ROOT if first == 0 else second_root
        agreed = not path and first_root == begin
    else:
        agreed = _both_roots(first, second, first_root, path) == (first_root, second_root)
    if not agreed:
        raise ProofMismatch(
            f"the log of {second} entries does not begin with the log of {first} entries",
            hint="The history before the first root was rewritten, or a root is not from this log.",
            first=first,
            second=second,
        )


def _both_roots(
    first: int, second: int, first_root: bytes, path: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """Compute both roots from the path; None if the path is too long or too short."""
    # A first tree of 2^n leaves is a node of the second one, which the proof does not repeat.
    steps = [first_root, *path] if first.bit_count() == 1 else list(path)
    index, last = first - 1, second - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    if not steps:
        return None
    old = young = steps[0]
    for sibling in steps[1:]:
        if last == 0:
            return None
        if index & 1 or index == last:
            old, young = node_hash(sibling, old), node_hash(sibling, young)
            index, last = _skip_missing_siblings(index, last)
        else:
            young = node_hash(young, sibling)
        index, last = index >> 1, last >> 1
    return (old, young) if last == 0 else None


def _skip_missing_siblings(index: int, last: int) -> tuple[int, int]:
    """Climb past the levels where the last node has no right neighbour (never called with 0)."""
    while not index & 1:
        index, last = index >> 1, last >> 1
    return index, last


def _left_size(size: int) -> int:
    """Return the largest power of two smaller than a size of at least two."""
    return 1 << ((size - 1).bit_length() - 1)


def _subtrees(start: int, end: int, read: ReadNode) -> list[bytes]:
    """Read the complete subtrees that make up the leaves from start to end, largest first."""
    subtrees: list[bytes] = []
    while start < end:
        level = (end - start).bit_length() - 1
        subtrees.append(read(level, start >> level))
        start += 1 << level
    return subtrees


def _fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root above complete subtrees, largest first."""
    if not hashes:
        return EMPTY_ROOT
    return reduce(lambda right, left: node_hash(left, right), reversed(hashes))


def _all_hashes(hashes: Iterable[bytes]) -> bool:
    """Tell if all have the length of a hash."""
    return {HASH_SIZE}.issuperset(map(len, hashes))
