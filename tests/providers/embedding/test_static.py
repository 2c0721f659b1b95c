"""The model inside the product: what is near, and what it is made of."""

from __future__ import annotations

import re
import sys
from array import array
from operator import mul
from pathlib import Path

import pytest

from counterpoint.kernel.errors import InvalidInput
from counterpoint.providers.embedding.opening import open_embedder
from counterpoint.providers.embedding.static import FOLDER, StaticEmbedder
from counterpoint.providers.embedding.wordpiece import WordPiece


def cosine(model: StaticEmbedder, one: str, other: str) -> float:
    """Answer how near two texts are."""
    here, there = (array("f", vector) for vector in model.embed([one, other]))
    return sum(map(mul, here, there))


def test_texts_of_like_meaning_are_near() -> None:
    """Without a word in common; what has nothing to do with it is not."""
    model = StaticEmbedder()
    near = cosine(model, "the database was locked", "SQLite busy timeout with two writers")
    assert near > 0.3 > cosine(model, "the database was locked", "a cake with apples")


def test_vectors_have_length_one_and_nothing_for_nothing() -> None:
    """A text without a known word has no vector; a very long one has."""
    model = StaticEmbedder()
    (vector, long) = model.embed(["one text", "many words " * 100_000])
    assert len(vector) == len(long) == 4 * model.dimensions == 1024
    numbers = array("f", vector)
    assert sum(map(mul, numbers, numbers)) == pytest.approx(1, abs=1e-5)
    assert model.embed(["", " \n", "\u0378\u0378"]) == [b"", b"", b""]
    assert (model.name, 0 < model.weight < 1, 0 < model.least < 1) == ("static-256.1", True, True)


def test_case_and_accents_make_no_difference() -> None:
    """Nor does a blank, nor what cannot be seen."""
    model = StaticEmbedder()
    plain, *others = model.embed(
        ["resume the cafe", "Résumé  the Café", "re\u00adsume the ca\u200dfe"]
    )
    assert others == [plain, plain]


def test_words_are_cut_into_the_longest_pieces(tmp_path: Path) -> None:
    """As BERT does; a word with an unknown part is left out, and so is an endless one."""
    (tmp_path / "vocab.txt").write_text("un\n##lock\n##ed\nlock\n,\n日\n##l\n", encoding="utf-8")
    words = WordPiece(tmp_path / "vocab.txt")
    assert words.ids("unlocked, LOCK", 9) == [0, 1, 2, 4, 3]
    assert words.ids("unlocked", 2) == [0, 1]
    assert words.ids("日日 lock", 9) == [5, 5, 3]
    assert words.ids("lockx unl", 9) == [0, 6]
    assert words.ids("un" + "l" * 100, 9) == []
    assert words.ids("ünlock lock", 9) == [0, 1, 3]


def test_many_words_are_remembered_and_then_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.providers.embedding.wordpiece._MOST_KNOWN", 2)
    (tmp_path / "vocab.txt").write_text("a\nb\nc\n", encoding="utf-8")
    words = WordPiece(tmp_path / "vocab.txt")
    assert words.ids("a b c a b c", 9) == [0, 1, 2, 0, 1, 2]
    assert len(words._known) <= 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what of a file is in memory")
def test_rows_that_were_read_are_no_memory_of_the_process() -> None:
    """However many texts it has seen, none of its weights is held for the next one."""
    model = StaticEmbedder()
    model.embed([f"word {number} of many that differ" for number in range(500)])
    parts = re.split(
        r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE
    )
    weights = [part for part in parts if "static_256/weights.npy" in part]
    assert weights
    assert all(re.search(r"^Rss:\s+0 kB", part, flags=re.MULTILINE) for part in weights)


def test_the_model_that_is_set_is_opened_once() -> None:
    """One for all who ask; none if it is off; an unknown name says which there are."""
    assert open_embedder("static") is open_embedder("static")
    assert open_embedder("off") is None
    with pytest.raises(InvalidInput, match="no embedding model 'minilm'") as refused:
        open_embedder("minilm")
    assert "static or off" in refused.value.hint
    assert "[models.embedding]" in refused.value.hint


def test_the_model_is_small_and_says_where_it_is_from() -> None:
    """Eight megabytes go into the wheel, with the licence of what they were made of."""
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert files.keys() == {"weights.npy", "scales.npy", "vocab.txt", "README.md", "NOTICE"}
    assert sum(files.values()) < 8_000_000
    assert "Apache License" in (FOLDER / "NOTICE").read_text(encoding="utf-8")
