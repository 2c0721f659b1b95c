"""The site of docs/: every page has a place in it, its links lead somewhere, and nothing is fetched to read it."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BROUGHT = {"index.md", "changelog.md"}
"""Pages that are made of files at the root."""


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml; what it says of Python is left unread."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@pytest.fixture
def settings() -> dict[str, Any]:
    """Give what mkdocs.yml says."""
    return dict(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader))  # noqa: S506 -- it is a safe one


@pytest.fixture
def site() -> ModuleType:
    """Give the program that brings pages of the root in."""
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "scripts" / "docs_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pages_in(part: Any) -> Iterator[str]:
    """Answer the pages of a part of the navigation."""
    if isinstance(part, str):
        yield part
        return
    for one in part.values() if isinstance(part, dict) else part:
        yield from pages_in(one)


def test_every_page_has_one_place_in_the_navigation(
    settings: dict[str, Any], site: ModuleType
) -> None:
    """And no place leads nowhere; `make docs` is as strict, and slower."""
    named = list(pages_in(site.spread(settings["nav"])))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(named) == sorted(there | BROUGHT)


def test_nothing_is_fetched_when_the_site_is_read(settings: dict[str, Any]) -> None:
    """No font, script or style stands elsewhere; what draws diagrams lies in the site."""
    assert settings["theme"]["font"] is False
    own = [*settings.get("extra_javascript", []), *settings.get("extra_css", [])]
    assert [name for name in own if "//" in name] == []
    assert "javascripts/mermaid.min.js" in own


def test_pages_of_the_root_keep_their_links(site: ModuleType) -> None:
    """Those of README lead from within docs/, those out of docs/ to pages of the site, and those to source are words."""
    text = site.brought((ROOT / "README.md").read_text("utf-8"))
    left = [link for link in re.findall(r"\]\(([^)#]+)", text) if "//" not in link]
    assert [link for link in left if not (DOCS / link).exists() and link not in BROUGHT] == []
    assert (
        site.within("see [a](../README.md) and [`b.py`](../../src/b.py)")
        == "see [a](index.md) and `b.py`"
    )
