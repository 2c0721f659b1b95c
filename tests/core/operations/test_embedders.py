"""Texts that are found by a provider's vectors: as a person trusted it, within limits, and by words where it does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.core.model.models import ModelUse
from counterpoint.core.operations.finding import embedders, embedding
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.errors import (
    BudgetSpent,
    CircuitOpen,
    InvalidInput,
    NotFound,
    NotTrusted,
    ProviderAway,
    ProviderFailed,
)
from fakes.embedding_server import EmbeddingServer

ASKED = "keep credentials safe"
DEAR = '[models.prices."vec-1"]\ninput = 1.0\noutput = 0\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give the folder of a project."""
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def app(tree: Path, tmp_path: Path) -> Iterator[App]:
    """Give the project, closed at the end."""
    opened = open_app(tree, {"HOME": str(tmp_path)}, db=str(tmp_path / "l.db"), project="demo")
    yield opened
    opened.close()


@pytest.fixture
def server(tree: Path) -> Iterator[EmbeddingServer]:
    """Give a server that the project wants to ask."""
    with EmbeddingServer() as found:
        found.configure(tree)
        yield found


@pytest.fixture
def ada(app: App, server: EmbeddingServer, tree: Path) -> Core:
    """Give an agent of a project that a person trusted, which has learned two things."""
    del server
    core = app.core(app.agent())
    trust(app, tree)
    for text in ("passwords are hashed with bcrypt", "cake with apples"):
        core.journal.append(Note(kind="learning", body=text))
    return core


def trust(app: App, tree: Path) -> None:
    """Have a person trust what the configuration says."""
    app.itself().projects.trust(read_checking(tree), "")


def found(core: Core, asked: str = ASKED) -> list[str]:
    """Answer the texts that are found."""
    return [one.row.body for one in core.overview.search(asked, limit=5)]


def uses(app: App) -> list[Any]:
    """Answer what was asked of models."""
    with app.store.reading("demo") as view:
        return view.select(ModelUse)


def test_texts_are_found_by_the_vectors_of_a_provider(
    app: App, ada: Core, server: EmbeddingServer
) -> None:
    """They are sent once, behind the answers; a question is sent once too, and each use is written down by the product."""
    assert found(ada) == []
    assert ada.embedding.coverage() == (0, 2)
    assert ada.embedding.has_searches
    assert ada.embedding.advance() == 2
    assert ada.embedding.coverage() == (2, 2)
    assert ada.embedding.model == "near/vec-1/0"
    assert found(ada) == ["passwords are hashed with bcrypt"]
    assert found(ada, "ship a pastry") == ["cake with apples"]
    assert ada.embedding.advance() == 0
    assert server.texts.count(ASKED) == 1
    assert sum("bcrypt" in one for one in server.texts) == 1
    told = [(one.provider, one.model, one.purpose, one.input_tokens) for one in uses(app)]
    assert told == [
        ("near", "vec-1", "search", 7),
        ("near", "vec-1", "embedding", 7),
        ("near", "vec-1", "search", 7),
    ]
    assert {one.agent for one in uses(app)} == {"counterpoint"}


def test_nothing_is_sent_before_a_person_trusted_it(
    app: App, tree: Path, server: EmbeddingServer
) -> None:
    """The texts of a project go nowhere because a file says so; words find."""
    core = app.core(app.agent())
    core.journal.append(Note(kind="learning", body="passwords are hashed"))
    assert found(core, "hashed credentials") == ["passwords are hashed"]
    with pytest.raises(NotTrusted):
        core.embedding.advance()
    assert server.asked == []
    trust(app, tree)
    assert core.embedding.advance() == 1


def test_what_was_trusted_before_is_not_trusted_with_it(
    app: App, ada: Core, server: EmbeddingServer, tree: Path
) -> None:
    """Another model, or another provider, takes trust again."""
    path = tree / "counterpoint.toml"
    path.write_text(path.read_text().replace("vec-1", "vec-2"))
    with pytest.raises(NotTrusted):
        ada.embedding.advance()
    trust(app, tree)
    ada.embedding.advance()
    assert server.asked[0][1]["model"] == "vec-2"


def test_another_model_takes_the_place_of_the_one_before(
    app: App, ada: Core, server: EmbeddingServer, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors alone count, and the others go when all texts have new ones and nobody used it for a while."""
    assert ada.embedding.advance() == 2
    server.configure(tree, more="dimensions = 8\n")
    trust(app, tree)
    assert ada.embedding.coverage() == (0, 2)
    assert ada.embedding.advance() == 2
    assert ada.embedding.advance() == 0, "another server may use the model before"
    monkeypatch.setattr(embedding, "IDLE", 0)
    assert ada.embedding.advance() == 2, "the vectors of the model before are taken away"
    assert ada.embedding.advance() == 0
    assert server.asked[-1][1]["dimensions"] == 8
    assert found(ada) == ["passwords are hashed with bcrypt"]


def test_words_find_where_it_does_not_answer(app: App, ada: Core, server: EmbeddingServer) -> None:
    """A failed question costs no answer; the next one is asked again."""
    ada.embedding.advance()
    server.script = [(401, {"error": {"message": "no"}})] * 2
    assert found(ada, "apples and cream") == ["cake with apples"]
    server.script.clear()
    assert found(ada, "pastry") == ["cake with apples"]
    assert [one.status for one in uses(app)] == ["answered", "failed", "answered"]


def test_a_provider_that_fails_is_left_alone(
    ada: Core, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a breaker of its own, after tries as with models."""
    monkeypatch.setattr("counterpoint.providers.embedding.asking.pause", lambda *_: None)
    server.script = [(503, {"error": {"message": "busy"}})] * 9
    with pytest.raises(ProviderFailed):
        ada.embedding.advance()
    with pytest.raises(CircuitOpen):
        ada.embedding.advance()
    assert len(server.asked) == 5


def test_a_text_that_says_nothing_is_not_sent(
    app: App, server: EmbeddingServer, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long ones are sent by their beginning, and many in parts."""
    monkeypatch.setattr(embedders, "AT_ONCE", 2)
    trust(app, tree)
    model = embedders.embedder_of(app.ports)
    assert model is not None
    vectors = model.embed(["cake", " \n", "boat", "x" * 20_000])
    assert [len(one) for one in vectors] == [32, 0, 32, 32]
    assert [len(body["input"]) for _, body in server.asked] == [2, 1]
    assert len(server.texts[-1]) == 8_000
    assert (model.weight, model.least, model.dimensions) == (0.5, 0.3, 0)


def test_only_the_last_questions_are_remembered() -> None:
    known = embedders.QuestionVectors()
    for number in range(70):
        known.keep("m", str(number), b"v")
    assert known.find("m", "0") is None
    assert known.find("m", "69") == b"v"


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ('provider = "nobody"\nmodel = "m"', NotFound),
        ('provider = "openai"\nmodel = "m"', ProviderAway),
        ('provider = "anthropic"\nmodel = "m"', ProviderAway),
    ],
)
def test_who_cannot_be_asked_is_not(app: App, tree: Path, said: str, refused: Any) -> None:
    """A provider that there is not, one without a key, and one that makes no vectors."""
    (tree / "counterpoint.toml").write_text(f"[models.embedding]\n{said}\n")
    trust(app, tree)
    core = app.core(app.agent())
    core.journal.append(Note(kind="learning", body="cake"))
    with pytest.raises(refused):
        core.embedding.advance()
    assert found(core, "cake") == ["cake"]


def test_what_costs_is_within_the_limits(app: App, ada: Core, tree: Path) -> None:
    """A price has to be known, and what a request may come to is set aside before it is sent."""
    said = '[models]\n{limit}[models.providers.near]\nkind = "chat"\naddress = "https://vectors.example"\n'
    wanted = '[models.embedding]\nprovider = "near"\nmodel = "vec-1"\n'
    app.serving = {"COUNTERPOINT_NEAR_API_KEY": "k", "HOME": str(tree)}
    app.__dict__.pop("_outside", None)
    (tree / "counterpoint.toml").write_text(said.format(limit="") + wanted)
    trust(app, tree)
    with pytest.raises(InvalidInput, match="no price"):
        ada.embedding.advance()
    (tree / "counterpoint.toml").write_text(said.format(limit="daily_usd = 0\n") + wanted + DEAR)
    trust(app, tree)
    with pytest.raises(BudgetSpent):
        ada.embedding.advance()
    assert uses(app) == []


def test_a_file_that_cannot_be_read_leaves_words(app: App, tree: Path) -> None:
    """A search is no place to tell what is wrong with it."""
    core = app.core(app.agent())
    core.journal.append(Note(kind="learning", body="cake"))
    (tree / "counterpoint.toml").write_text("[models.embedding\n")
    assert found(core, "cake") == ["cake"]
