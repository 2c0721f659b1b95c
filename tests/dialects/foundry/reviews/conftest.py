"""Reviewers of the tests: servers on this machine, and answers in the forms of reviews."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from builders import Agent, Workshop
from fakes.reviews import Servers
from fakes.scripted_models import MODEL, ModelServer, Script


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")


@pytest.fixture
def servers(workshop: Workshop) -> Iterator[Servers]:
    """Answer what makes reviewers `one`, `two` and so on, who are asked in this order; each says what its script has."""
    with ExitStack() as stack:

        def make(*scripts: tuple[Script, ...]) -> dict[str, ModelServer]:
            names = ("one", "two", "three", "four")
            found = {
                name: stack.enter_context(ModelServer(*script))
                for name, script in zip(names, scripts, strict=False)
            }
            path = workshop.root / "counterpoint.toml"
            before = path.read_text() if path.exists() else ""
            order = ", ".join(f'"{name}"' for name in found)
            tables = [
                f'[models.providers.{name}]\nkind = "chat"\naddress = "{one.address}"\nmodel = "{MODEL}"\n'
                for name, one in found.items()
            ]
            path.write_text(f"{before}\n[models]\norder = [{order}]\n" + "".join(tables))
            return found

        yield make
