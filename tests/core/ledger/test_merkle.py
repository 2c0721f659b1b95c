"""Merkle trees against the vectors of Certificate Transparency and a slow tree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from itertools import pairwise

import pytest

from counterpoint.core.ledger.merkle import (
    EMPTY_ROOT,
    Frontier,
    Node,
    consistency_proof,
    frontier_at,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from counterpoint.kernel.errors import InvalidInput, MalformedDocument, ProofMismatch

INPUTS = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = [
    (
        0,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
        1,
        5,
        [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]
CONSISTENCY = [
    (1, 1, []),
    (
        1,
        8,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        [
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
]
LARGEST = 256 if os.environ.get("COUNTERPOINT_LONG") == "1" else 96
"""Each pair of sizes, and of an index and a size, up to this one is tried."""
LEAVES = [leaf_hash(bytes([number])) for number in range(LARGEST)]
CT_LEAVES = [leaf_hash(data) for data in INPUTS]


def slow_root(leaves: Sequence[bytes]) -> bytes:
    """Answer MTH of RFC 6962, section 2.1, over leaf hashes, word for word."""
    return _slow_root(tuple(leaves))


@cache
def _slow_root(leaves: tuple[bytes, ...]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = slow_split(len(leaves))
    return sha256(b"\x01" + _slow_root(leaves[:k]) + _slow_root(leaves[k:])).digest()


def slow_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Answer PATH of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return []
    k = slow_split(len(leaves))
    if m < k:
        return [*slow_path(m, leaves[:k]), slow_root(leaves[k:])]
    return [*slow_path(m - k, leaves[k:]), slow_root(leaves[:k])]


def slow_proof(m: int, leaves: Sequence[bytes], *, known: bool = True) -> list[bytes]:
    """Answer SUBPROOF of RFC 6962, section 2.1.2."""
    if m == len(leaves):
        return [] if known else [slow_root(leaves)]
    k = slow_split(len(leaves))
    if m <= k:
        return [*slow_proof(m, leaves[:k], known=known), slow_root(leaves[k:])]
    return [*slow_proof(m - k, leaves[k:], known=False), slow_root(leaves[:k])]


def slow_split(size: int) -> int:
    """Answer the largest power of two below a size."""
    k = 1
    while k * 2 < size:
        k *= 2
    return k


class Tree:
    """A stored tree that counts its reads and knows complete subtrees only."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.nodes = {(0, index): leaf for index, leaf in enumerate(leaves)}
        frontier = Frontier()
        for leaf in leaves:
            frontier, completed = frontier.append(leaf)
            self.nodes.update({(level, index): node for level, index, node in completed})
        self.reads = 0

    def read(self, level: int, index: int) -> bytes:
        """Answer a node."""
        self.reads += 1
        return self.nodes[level, index]


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    """Each root over the eight known inputs has its published value."""
    assert root_of(CT_LEAVES[:size]).hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size", "path"), INCLUSION)
def test_inclusion_proofs_are_those_of_certificate_transparency(
    index: int, size: int, path: list[str]
) -> None:
    """Each known path is made as published, and accepted."""
    made = inclusion_proof(index, size, Tree(CT_LEAVES).read)
    assert [one.hex() for one in made] == path
    verify_inclusion(index, size, CT_LEAVES[index], made, bytes.fromhex(ROOTS[size]))


@pytest.mark.parametrize(("first", "second", "path"), CONSISTENCY)
def test_consistency_proofs_are_those_of_certificate_transparency(
    first: int, second: int, path: list[str]
) -> None:
    """Each known proof is made as published, and accepted."""
    made = consistency_proof(first, second, Tree(CT_LEAVES).read)
    assert [one.hex() for one in made] == path
    verify_consistency(
        first, second, bytes.fromhex(ROOTS[first]), bytes.fromhex(ROOTS[second]), made
    )


@pytest.mark.no_cover
def test_every_root_and_frontier_equals_the_slow_tree() -> None:
    """At every size the edge gives the slow root, appended, extended or read back."""
    tree = Tree(LEAVES)
    frontier = Frontier()
    for size in range(LARGEST + 1):
        assert frontier.root() == slow_root(LEAVES[:size])
        assert frontier == Frontier().extend(LEAVES[:size])[0] == frontier_at(size, tree.read)
        assert Frontier.from_bytes(frontier.to_bytes()) == frontier
        if size < LARGEST:
            frontier, _ = frontier.append(LEAVES[size])


def test_every_completed_node_is_the_root_of_its_leaves() -> None:
    """Nodes come out once, lowest first, and only when their leaves are all there."""
    frontier, seen = Frontier(), []
    for size, leaf in enumerate(LEAVES, start=1):
        frontier, completed = frontier.append(leaf)
        for level, index, node in completed:
            assert (index + 1) << level == size
            assert node == slow_root(LEAVES[index << level : size])
        seen.extend((level, index) for level, index, _ in completed)
    whole = {
        (level, index)
        for level in range(1, LARGEST.bit_length())
        for index in range(LARGEST >> level)
    }
    assert len(seen) == len(whole)
    assert set(seen) == whole


def test_leaves_that_come_together_complete_what_they_complete_one_by_one() -> None:
    """From every size, however many leaves follow: the same edge, the same nodes."""
    tree = Tree(LEAVES[:40])
    for start in range(33):
        for more in (0, 1, 2, 3, 7):
            begun = frontier_at(start, tree.read)
            frontier, completed = begun.extend(LEAVES[start : start + more])
            nodes: list[Node] = []
            for leaf in LEAVES[start : start + more]:
                begun, found = begun.append(leaf)
                nodes += found
            assert frontier == begun
            assert completed == sorted(nodes)


@pytest.mark.no_cover
def test_every_inclusion_proof_equals_the_slow_tree_and_verifies() -> None:
    """Every leaf of every tree up to the largest is proved, in at most two reads a level."""
    tree = Tree(LEAVES)
    for size in range(1, LARGEST + 1):
        for index in range(size):
            tree.reads = 0
            path = inclusion_proof(index, size, tree.read)
            assert path == slow_path(index, LEAVES[:size])
            assert tree.reads <= 2 * size.bit_length()
            verify_inclusion(index, size, LEAVES[index], path, slow_root(LEAVES[:size]))


@pytest.mark.no_cover
def test_every_consistency_proof_equals_the_slow_tree_and_verifies() -> None:
    """Every pair of trees up to the largest is proved, in at most two reads a level."""
    tree = Tree(LEAVES)
    roots = [slow_root(LEAVES[:size]) for size in range(LARGEST + 1)]
    for second in range(LARGEST + 1):
        for first in range(second + 1):
            tree.reads = 0
            path = consistency_proof(first, second, tree.read)
            assert path == (slow_proof(first, LEAVES[:second]) if first else [])
            assert tree.reads <= 2 * second.bit_length()
            verify_consistency(first, second, roots[first], roots[second], path)


def spoiled(path: list[bytes]) -> list[list[bytes]]:
    """Answer wrong versions of a path: each hash changed or left out, one added at either end."""
    other = sha256(b"other").digest()
    wrong = [[*path[:at], other, *path[at + 1 :]] for at in range(len(path))]
    wrong += [[*path[:at], *path[at + 1 :]] for at in range(len(path))]
    wrong += [[*path, other], [other, *path]]
    return wrong


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 13, 16])
def test_a_false_inclusion_proof_is_refused(size: int) -> None:
    """A wrong path, leaf, root, index or size does not verify."""
    root = slow_root(LEAVES[:size])
    for index in range(size):
        path = slow_path(index, LEAVES[:size])
        for wrong in spoiled(path):
            with pytest.raises(ProofMismatch):
                verify_inclusion(index, size, LEAVES[index], wrong, root)
        for other in set(range(size)) - {index}:
            with pytest.raises(ProofMismatch):
                verify_inclusion(other, size, LEAVES[index], path, root)
        with pytest.raises(ProofMismatch):
            verify_inclusion(index, size, LEAVES[index + 1], path, root)
        with pytest.raises(ProofMismatch):
            verify_inclusion(index, size, LEAVES[index], path, EMPTY_ROOT)


@pytest.mark.parametrize(("first", "second"), [(0, 3), (1, 2), (3, 7), (4, 8), (6, 8), (7, 13)])
def test_a_false_consistency_proof_is_refused(first: int, second: int) -> None:
    """A wrong path, either wrong root, or swapped roots do not verify."""
    old, young = slow_root(LEAVES[:first]), slow_root(LEAVES[:second])
    path = slow_proof(first, LEAVES[:second]) if first else []
    for wrong in spoiled(path):
        with pytest.raises(ProofMismatch):
            verify_consistency(first, second, old, young, wrong)
    with pytest.raises(ProofMismatch):
        verify_consistency(first, second, young, old, path)
    with pytest.raises(ProofMismatch):
        verify_consistency(first, second, LEAVES[-1], young, path)


def test_a_proof_for_a_smaller_tree_is_too_short() -> None:
    """A path that ends below the root of the claimed size is refused, though its hashes fit."""
    small = slow_root(LEAVES[:4])
    with pytest.raises(ProofMismatch):
        verify_inclusion(1, 5, LEAVES[1], slow_path(1, LEAVES[:4]), small)
    with pytest.raises(ProofMismatch):
        verify_consistency(2, 5, slow_root(LEAVES[:2]), small, slow_proof(2, LEAVES[:4]))


def test_equal_sizes_are_consistent_only_with_equal_roots() -> None:
    """Two roots of one size prove that there are two histories."""
    root = slow_root(LEAVES[:5])
    verify_consistency(5, 5, root, root, [])
    with pytest.raises(ProofMismatch):
        verify_consistency(5, 5, root, EMPTY_ROOT, [])
    with pytest.raises(ProofMismatch):
        verify_consistency(5, 5, root, root, [root])


def test_a_consistency_proof_without_hashes_is_refused() -> None:
    """An empty path never joins two sizes, whatever the roots."""
    with pytest.raises(ProofMismatch):
        verify_consistency(3, 7, slow_root(LEAVES[:3]), slow_root(LEAVES[:7]), [])


def test_a_proof_with_something_that_is_no_hash_is_refused() -> None:
    """A path element of another length could hide bytes, so it is not hashed at all."""
    with pytest.raises(ProofMismatch):
        verify_inclusion(0, 2, LEAVES[0], [LEAVES[1] + b"x"], root_of(LEAVES[:2]))
    with pytest.raises(ProofMismatch):
        verify_inclusion(0, 1, b"", [], b"")
    with pytest.raises(ProofMismatch):
        verify_consistency(1, 2, LEAVES[0], root_of(LEAVES[:2]), [b""])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (3, 3), (-1, 3), (4, 3)])
def test_a_leaf_outside_of_the_tree_has_no_proof(index: int, size: int) -> None:
    """Asking for it is wrong input; claiming it is a wrong proof."""
    with pytest.raises(InvalidInput):
        inclusion_proof(index, size, Tree(LEAVES).read)
    with pytest.raises(ProofMismatch):
        verify_inclusion(index, size, LEAVES[0], [], LEAVES[0])


@pytest.mark.parametrize(("first", "second"), [(4, 3), (-1, 3)])
def test_a_larger_tree_is_no_beginning_of_a_smaller(first: int, second: int) -> None:
    """Asking for the proof is wrong input; claiming it is a wrong proof."""
    with pytest.raises(InvalidInput):
        consistency_proof(first, second, Tree(LEAVES).read)
    with pytest.raises(ProofMismatch):
        verify_consistency(first, second, LEAVES[0], LEAVES[0], [])


def test_a_leaf_is_never_taken_for_a_node() -> None:
    """The two prefixes keep an entry made of two hashes apart from the node above them."""
    left, right = LEAVES[:2]
    assert leaf_hash(left + right) != node_hash(left, right)


def test_bytes_that_are_no_edge_are_refused() -> None:
    """Too few or too many hashes for the size, or a size out of range, do not load."""
    sound = Frontier().extend(LEAVES[:3])[0].to_bytes()
    wrongs = (sound[:-1], sound[:-32], sound + b"\x00", b"\x80" + bytes(7) + LEAVES[0], b"\x00")
    for wrong in wrongs:
        with pytest.raises(MalformedDocument):
            Frontier.from_bytes(wrong)
    assert Frontier.from_bytes(b"") == Frontier()


def test_the_edge_of_a_huge_tree_is_small() -> None:
    """The largest tree has 63 edge hashes, and its root is still one value."""
    largest = Frontier(size=2**63 - 1, hashes=(LEAVES[0],) * 63)
    assert Frontier.from_bytes(largest.to_bytes()) == largest
    assert len(largest.root()) == 32


def test_growing_a_tree_never_changes_a_stored_node() -> None:
    """A node that was read at one size is the same at every later size."""
    sizes = [Tree(LEAVES[:size]).nodes for size in range(1, 33)]
    for before, after in pairwise(sizes):
        assert before.items() <= after.items()
