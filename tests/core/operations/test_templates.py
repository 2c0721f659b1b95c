"""Plans from templates: listed, previewed, made; one path for all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.core.model.work import Attribute
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    CounterpointError,
    CyclicDependency,
    InvalidInput,
    MalformedDocument,
)
from fakes.studio import Studio

LAUNCH = """\
name: Launch
title: Launch {{ WHAT }}
description: Bring {{ WHAT }} out
variables:
  WHAT: {description: What it is, pattern: '[^\\n]*'}
  HOW: {default: with care}
phases:
  - name: Prepare
    tasks: [Pack, {name: 'Test {{ WHAT }}', verify: "make {{ WHAT }}", dependencies: [Pack]}]
  - name: Go
    description: "{{ HOW }}"
    tasks: [Press]
"""


def test_templates_are_listed_with_what_they_ask_for(studio, ada):
    """Those of both formats; a broken and an unreadable one say why."""
    studio.shelf.texts |= {"launch.yaml": LAUNCH, "fix": "# Fix {{what}}\n", "broken.yaml": "a: b"}
    broken, fix, launch = ada.plans.templates()
    assert (launch.slug, launch.name, launch.phases_count) == ("launch", "Launch", 2)
    assert [one.name for one in launch.variables] == ["WHAT", "HOW"]
    assert (fix.form, launch.form, fix.problem, launch.problem) == ("markdown", "yaml", "", "")
    assert "line 1" in broken.problem


class Torn:
    """A shelf whose only sheet cannot be read."""

    def names(self) -> list[str]:
        """Answer its name."""
        return ["torn"]

    def template(self, name: str) -> Any:
        """Refuse it."""
        raise InvalidInput("it is no text")


def test_a_template_that_cannot_be_read_stays_in_the_list():
    """The others are not lost with it."""
    studio = Studio(library=Torn())
    (torn,) = studio.core("ada").plans.templates()
    assert (torn.slug, torn.problem, torn.version) == ("torn", "it is no text", "")
    studio.close()


def test_what_is_previewed_is_what_is_made(studio, ada):
    """The same titles, order, gates and texts; looking writes nothing."""
    studio.shelf.texts["launch.yaml"] = LAUNCH
    before = studio.image()
    preview = ada.plans.template_preview("launch", {"WHAT": "it"})
    assert studio.image() == before
    draft = ada.plans.from_template("launch", {"WHAT": "it"})
    assert draft == preview.draft
    made = ada.plans.create(draft)
    planned = ada.plans.preview(draft)
    assert [item.title for item in made.items] == [part.draft.title for part in planned]
    assert [item.title for item in made.items] == [
        "Launch it", "Prepare", "Go", "Pack", "Test it", "Press",
    ]  # fmt: skip
    assert made.items[2].blockers == 1
    assert made.ready == (made.items[3].id,)


def test_the_plan_keeps_the_version_of_its_template(studio, ada):
    """As the list told it, with the values that went in."""
    studio.shelf.texts["launch.yaml"] = LAUNCH
    made = ada.plans.create(ada.plans.from_template("launch", {"WHAT": "it"}, "Title"))
    assert made.root.title == "Title"
    with studio.view() as view:
        kept = canonical.load(view.find(Attribute, made.root.id, "template").value)
    (entry,) = ada.plans.templates()
    assert kept == {
        "slug": "launch", "name": "Launch", "version": entry.version, "source": "project",
        "variables": {"WHAT": "it", "HOW": "with care"},
    }  # fmt: skip


def test_gates_can_be_left_out(studio, ada):
    """Then what they ask for stands among what must be true."""
    studio.shelf.texts["launch.yaml"] = LAUNCH
    draft = ada.plans.from_template("launch", {"WHAT": "it"}, gated=False)
    assert ada.plans.template_preview("launch", {"WHAT": "it"}, gated=False).draft == draft
    made = ada.plans.create(draft)
    facets = ada.overview.facets(made.items[4].id)
    assert facets.gates == ()
    assert [one.text for one in facets.criteria] == ["`make it` passes"]


CIRCLE = LAUNCH.replace("name: Prepare", "name: Prepare\n    dependencies: [Go]")


@pytest.mark.parametrize(
    ("text", "values", "fault"),
    [
        (LAUNCH, {}, InvalidInput),
        (LAUNCH, {"WHAT": "it", "WHO": "me"}, InvalidInput),
        (LAUNCH, {"WHAT": "x" * 500}, MalformedDocument),
        (LAUNCH, {"WHAT": "\0"}, InvalidInput),
        (CIRCLE, {"WHAT": "it"}, CyclicDependency),
        ("name: x", {}, MalformedDocument),
    ],
)
def test_a_preview_refuses_what_making_refuses(studio, ada, text, values, fault):
    """The same fault, and nothing is written."""
    studio.shelf.texts["launch.yaml"] = text
    first = studio.refuses(fault, lambda: ada.plans.template_preview("launch", values))
    second = studio.refuses(
        fault, lambda: ada.plans.create(ada.plans.from_template("launch", values))
    )
    assert (first.message, first.facts) == (second.message, second.facts)


values = st.text(alphabet="ab {}$\\@1&'\"#-\n\t\0é\ud800", max_size=8)
tasks = st.lists(
    st.sampled_from(
        ["Pack", "{name: A, verify: 'run {{ X }}'}", "{name: '{{ X }}', dependencies: [1]}", "'{{ Y }}'",
         "{name: B, accept: ['{{ X }}', '{{ Y }}'], areas: '{{ Y }}'}", "{name: C, verify: '{{ Y }}'}"]
    ),
    max_size=3,
)  # fmt: skip
phases = st.lists(
    st.tuples(tasks, st.sampled_from(["", "[]", "[1]", "[2]", "[P1]"]), st.booleans()), max_size=3
)


def _text(shape: Any) -> str:
    lines = ["name: N", "title: 'T {{ X }}'", "variables: {X: {}, Y: {default: ''}}", "phases:"]
    for number, (inner, after, review) in enumerate(shape, 1):
        lines += [
            f"  - name: P{number}",
            f"    review: {review}",
            f"    tasks: [{', '.join(inner)}]",
        ]
        lines += [f"    dependencies: {after}"] if after else []
    return "\n".join(lines)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=phases, x=values, y=values)
def test_any_template_makes_what_its_preview_shows_or_nothing(studio, ada, shape, x, y):
    """Never half a plan: each item of the preview with its place, or a refusal of both."""
    studio.shelf.texts["any.yaml"] = _text(shape)
    given = {"X": x, "Y": y}
    try:
        preview = ada.plans.template_preview("any", given)
    except CounterpointError as fault:
        studio.refuses(type(fault), lambda: ada.plans.create(ada.plans.from_template("any", given)))
        return
    made = ada.plans.create(ada.plans.from_template("any", given))
    shown = list(preview.draft.walk())
    assert sorted(part.title for part in shown) == sorted(item.title for item in made.items)
    assert len(shown) == len(made.items)
