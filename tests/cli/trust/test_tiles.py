"""Tiles, read by a small monitor that is written from the specification alone."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from counterpoint.app import open_app
from fakes.harbour import where_it_is
from fakes.rewriting import rewrite


class Monitor:
    """Reads a folder of tiles as C2SP tlog-tiles describes it; knows nothing of the product."""

    def __init__(self, folder: Path, vkey: str) -> None:
        self.folder = folder
        self.name, _, encoded = vkey.split("+", 2)
        self.key = Ed25519PublicKey.from_public_bytes(base64.b64decode(encoded)[1:])

    def read(self) -> list[bytes]:
        """Answer the entries, after everything was checked."""
        text, _, lines = (self.folder / "checkpoint").read_text("utf-8").rpartition("\n\n")
        mine = [line for line in lines.splitlines() if line.startswith(f"— {self.name} ")]
        signature = base64.b64decode(mine[0].split(" ")[2])[4:]
        self.key.verify(signature, f"{text}\n".encode())
        origin, size, root = text.split("\n")[:3]
        assert origin == self.name
        leaves = self.hashes(0, int(size))
        assert self.root(leaves) == base64.b64decode(root)
        entries = self.entries(int(size))
        assert [sha256(b"\0" + entry).digest() for entry in entries] == leaves
        level = 1
        while int(size) >> (8 * level):
            width = 256**level
            expected = [
                self.root(leaves[start * width : (start + 1) * width])
                for start in range(int(size) // width)
            ]
            assert self.hashes(level, int(size) // width) == expected
            level += 1
        return entries

    def hashes(self, level: int, count: int) -> list[bytes]:
        """Answer the hashes of a level."""
        found: list[bytes] = []
        for tile in self.files(str(level), count):
            assert len(tile) % 32 == 0
            found += [tile[start : start + 32] for start in range(0, len(tile), 32)]
        assert len(found) == count
        return found

    def entries(self, count: int) -> list[bytes]:
        """Answer the entries."""
        found: list[bytes] = []
        for bundle in self.files("entries", count):
            start = 0
            while start < len(bundle):
                end = start + 2 + int.from_bytes(bundle[start : start + 2], "big")
                found.append(bundle[start + 2 : end])
                start = end
            assert start == len(bundle)
        assert len(found) == count
        return found

    def files(self, level: str, count: int) -> list[bytes]:
        """Answer the tiles or bundles of a level."""
        paths = [f"{number:03}" for number in range(count // 256)]
        if count % 256:
            paths.append(f"{count // 256:03}.p/{count % 256}")
        return [(self.folder / "tile" / level / path).read_bytes() for path in paths]

    def root(self, leaves: list[bytes]) -> bytes:
        """Answer the Merkle tree hash of RFC 6962."""
        if len(leaves) == 1:
            return leaves[0]
        half = 1 << (len(leaves) - 1).bit_length() - 1
        return sha256(b"\1" + self.root(leaves[:half]) + self.root(leaves[half:])).digest()


def write(ledger: Path, many: int, value: str = "") -> None:
    """Append entries."""
    app = open_app(ledger, where_it_is())
    for number in range(many):
        app.itself().memory.put("project", "n", value or number)
    app.close()


@pytest.fixture
def tiles(call, ledger, tmp_path) -> Monitor:
    """A monitor of the tiles of a ledger of 270 entries, of which the last names the key."""
    write(ledger, 263)
    said = call("audit", "export", "--tiles", str(tmp_path / "log"))
    assert said.code == 0, said.err
    return Monitor(tmp_path / "log", call("audit", "verify", "--json").json["key"])


def test_a_monitor_of_somebody_else_reads_the_ledger_from_its_tiles(call, ledger, tiles):
    """Signature, tree, entries and every level; what is new comes to what is there."""
    first = tiles.read()
    assert len(first) == 270
    assert (tiles.folder / "tile" / "0" / "001.p" / "14").exists()
    kept = {path: path.stat().st_mtime_ns for path in tiles.folder.rglob("000")}
    write(ledger, 250)
    said = call("audit", "export", "--tiles", str(tiles.folder))
    assert "520 entries as tiles" in said.out
    second = tiles.read()
    assert second[:270] == first
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert not (tiles.folder / "tile" / "0" / "001.p").exists()
    assert (tiles.folder / "tile" / "1" / "000.p" / "1").exists()


def test_an_export_that_was_broken_off_is_gone_on_with(call, tiles):
    """Before its checkpoint everything is written again; after it, what is missing or has no content."""
    (tiles.folder / "checkpoint").unlink()
    (tiles.folder / "tile" / "0" / "000").write_bytes(b"half")
    assert call("audit", "export", "--tiles", str(tiles.folder)).code == 0
    first = tiles.read()
    (tiles.folder / "tile" / "entries" / "000").write_bytes(b"")
    (tiles.folder / "tile" / "1" / "000.p" / "1").unlink()
    assert "2 files of them new" in call("audit", "export", "--tiles", str(tiles.folder)).out
    assert tiles.read() == first


def test_nothing_is_written_into_a_folder_of_somebody_else(call, stored, tiles, tmp_path):
    """Neither where something else lies, nor where another ledger or another history does."""
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "letter").write_text("dear")
    said = call("audit", "export", "--tiles", str(strange))
    assert (said.code, "not empty" in said.err) == (1, True)
    assert [path.name for path in strange.iterdir()] == ["letter"]
    mark = tiles.folder / ".counterpoint-tiles"
    own = mark.read_text()
    mark.write_text("led_other\n")
    said = call("audit", "export", "--tiles", str(tiles.folder))
    assert (said.code, "another ledger" in said.err) == (1, True)
    mark.write_text(own)
    note = tiles.folder / "checkpoint"
    kept = note.read_text()
    note.write_text(kept.replace("\n270\n", "\n269\n"))
    assert call("audit", "export", "--tiles", str(tiles.folder)).code == 1
    note.write_text(kept)
    kept = stored.copied()
    rewrite(stored, b'"n":"ada"', b'"n":"eve"')
    assert call("audit", "export", "--tiles", str(tiles.folder)).code == 1
    stored.put(kept)
    assert call("audit", "export", "--tiles", str(tiles.folder), "x.bundle").code == 2


def test_a_bundle_with_an_entry_that_does_not_fit_is_left_out_and_named(call, ledger, tmp_path):
    """A large plan is one entry; its hash is there all the same, and so are the other bundles."""
    write(ledger, 270)
    app = open_app(ledger, where_it_is())
    core = app.itself()
    where = ", ".join(f"decks/{'x' * 150}/{number}" for number in range(8))
    tasks = f"- [ ] Lay a plank\n  - areas: {where}\n" * 90
    core.plans.create(core.plans.read(f"# Big\n## Build\n{tasks}"))
    app.close()
    folder = tmp_path / "log"
    said = call("audit", "export", "--tiles", str(folder))
    assert said.code == 0
    assert "Left out a bundle: entry 27" in said.err
    assert [path.name for path in (folder / "tile" / "entries").iterdir()] == ["000"]
    (last,) = (folder / "tile" / "0" / "001.p").iterdir()
    assert last.stat().st_size == int(last.name) * 32
