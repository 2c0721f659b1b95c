"""The page about templates: what it shows can be used, and what it lists ships."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from counterpoint.core.model.templates import TemplateSource
from counterpoint.core.rules.drafting import plan_of
from counterpoint.core.rules.templating import filling
from counterpoint.evidence.directories import TemplateDirectory
from counterpoint.kernel.errors import InvalidInput

PAGE = (Path(__file__).parents[2] / "docs" / "templates.md").read_text("utf-8")


def test_the_template_it_shows_makes_a_plan():
    """Its pattern holds, its command is one of git, its phases wait for each other."""
    text = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    sheet = TemplateSource(slug="release", text=text, form="yaml", source="project")
    filled = filling.fill(sheet, {"VERSION": "1.4.0"})
    assert len(plan_of(filled.draft, lambda item: False)) == 6
    assert filled.draft.children[0].children[1].checks == (("git", "rev-parse", "v1.4.0"),)
    with pytest.raises(InvalidInput):
        filling.fill(sheet, {"VERSION": "next"})


def test_the_templates_it_lists_are_those_that_ship(tmp_path):
    """Each by its name, with the variables that must be given."""
    shelf = TemplateDirectory(folder=tmp_path)
    entries = [filling.entry(shelf.template(name)) for name in shelf.names()]
    rows = re.findall(r"^\| `([a-z-]+)` \|[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    assert {name: re.findall(r"[A-Z_]+", needed) for name, needed in rows} == {
        entry.slug: [one.name for one in entry.variables if one.required]
        for entry in entries
        if entry.form == "yaml"
    }
