"""Texts that are embedded behind the answers of a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

import pytest

from counterpoint.app import App, open_app
from counterpoint.cli.server.background import TextIndexing
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.core.operations.finding import embedding
from counterpoint.kernel.errors import Unavailable


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """Give a project with three learnings."""
    opened = open_app(tmp_path, {}, db=str(tmp_path / "ledger.db"), project="demo")
    for text in ("one", "two", "three"):
        opened.itself().journal.append(Note(kind="learning", body=text))
    yield opened
    opened.close()


def test_nothing_is_embedded_before_anybody_searches(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all that waits, slice by slice, and later what was written since."""
    monkeypatch.setattr(embedding, "SLICE", 2)
    indexing, core = TextIndexing(), app.itself()
    indexing._cores["demo"] = core
    indexing.look("demo")
    assert core.embedding.coverage() == (0, 3)
    core.overview.search("one", limit=5)
    indexing.look("demo")
    assert core.embedding.coverage() == (3, 3)
    core.journal.append(Note(kind="learning", body="four"))
    indexing.look("demo")
    assert core.embedding.coverage() == (4, 4)


def test_a_thread_does_it_and_ends_with_the_server(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks by itself; whoever ends it waits for the slice under way."""
    monkeypatch.setattr("counterpoint.cli.server.background.INDEX_INTERVAL", 0.001)
    indexing, core, kept = TextIndexing(), app.itself(), Event()
    core.overview.search("one", limit=5)
    known = app.ports.embedder()

    @dataclass
    class Told:
        """The model, telling when it was asked for the last text."""

        name: str = "told"
        least: float = 0.3
        weight: float = 0.3
        dimensions: int = 256
        seen: list[str] = field(default_factory=list)

        def embed(self, texts: list[str]) -> list[bytes]:
            self.seen += texts
            kept.set()
            return known.embed(texts)

    indexing.tend("demo", Core(replace(app.ports, embedder=Told), core.caller))
    assert kept.wait(30)
    assert indexing.close()
    assert indexing.close()
    indexing.tend("demo", core)
    assert indexing.close()


def test_what_fails_is_told_once(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """And tried again with the next look."""

    def away() -> None:
        raise Unavailable("the model is away")

    app.itself().overview.search("one", limit=5)
    indexing = TextIndexing()
    indexing._cores["demo"] = Core(replace(app.ports, embedder=away), app.itself().caller)
    with caplog.at_level(logging.WARNING):
        indexing.look("demo")
        indexing.look("demo")
    assert [
        one.message.startswith("Texts are found by their words alone: the model is away")
        for one in caplog.records
    ] == [True]
    indexing._cores["demo"] = app.itself()
    indexing.look("demo")
    assert app.itself().embedding.coverage() == (3, 3)
