"""Filling templates: one pass, one path, never half a plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.drafts import place_name
from counterpoint.core.model.templates import TemplateSource
from counterpoint.core.rules.drafting import plan_of
from counterpoint.core.rules.templating import filling
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import CounterpointError, InvalidInput

ORDERED = """\
name: Ordered
title: "T {{ A }}"
description: "D {{ A }}"
context: "C {{ B }}"
guidelines: ["{{ B }}", stay calm]
metadata: {"k": ["{{ A }}", {"{{ A }}": "{{ B }}"}]}
variables: {A: {}, B: {default: ""}, CMD: {default: make test}}
phases:
  - name: "One {{ A }}"
    tasks:
      - name: "a {{ A }}"
        metadata: {m: "{{ A }}"}
        areas: "{{ A }}, src"
        labels: ["{{ B }}"]
        accept: ["{{ B }}", "sure"]
        verify: ["{{ CMD }}", "run {{ A }} {{ B }}", "{{ B }}"]
        profile: "{{ B }}"
        review: yes
      - name: b
        dependencies: ["a {{ A }}"]
  - name: Two
    dependencies: []
    approval: yes
  - name: Three
    dependencies: [1, Two]
    artifact: yes
    verify: "{{ CMD }}"
"""


def sheet(text: str, form: Any = "yaml") -> TemplateSource:
    """Answer a sheet of a text."""
    return TemplateSource(slug="one", text=text, form=form, source="project")


def test_every_text_is_filled_and_the_order_is_resolved():
    """What is empty then is left out; places become names that no title has."""
    filled = filling.fill(sheet(ORDERED), {"A": "x y"})
    draft = filled.draft
    assert (draft.title, draft.kind) == ("T x y", "plan")
    assert draft.body == "D x y\n\nC\n\nGuidelines:\n\n- stay calm"
    assert (filled.description, filled.context, filled.guidelines) == ("D x y", "C", ("stay calm",))
    assert filled.metadata == {"k": ["x y", {"{{ A }}": ""}]}
    assert filled.variables == {"A": "x y", "B": "", "CMD": "make test"}
    one, two, three = draft.children
    assert (one.title, one.kind, one.needs) == ("One x y", "phase", None)
    assert (two.needs, three.needs) == ((), (one.name, two.name))
    a, b = one.children
    assert (a.title, a.kind, a.needs, b.needs) == ("a x y", "task", None, (a.name,))
    assert (a.areas, a.labels, a.acceptance) == (("x y", "src"), (), ("sure",))
    assert a.checks == (("make", "test"), ("run", "x y"))
    assert (a.profile, a.review, two.approval, three.artifact) == ("", True, True, True)
    assert a.attributes == {"metadata": {"m": "x y"}}
    assert [part.line for part in (one, a, b, two)] == [9, 11, 19, 21]


def test_the_plan_says_which_template_made_it():
    """Its version among it, as the list tells it; with what else is kept."""
    filled = filling.fill(sheet(ORDERED), {"A": "x", "B": "y"})
    assert filled.template == filling.entry(sheet(ORDERED))
    assert filled.draft.attributes == {
        "template": {
            "slug": "one", "name": "Ordered", "version": filled.template.version,
            "source": "project", "variables": {"A": "x", "B": "y", "CMD": "make test"},
        },
        "context": "C y",
        "guidelines": ["y", "stay calm"],
        "metadata": {"k": ["x", {"{{ A }}": "y"}]},
    }  # fmt: skip


def test_a_title_of_the_callers_own_is_not_filled():
    """It stands as it was given."""
    assert filling.fill(sheet(ORDERED), {"A": "x"}, "My {{ A }}").draft.title == "My {{ A }}"
    markdown = filling.fill(sheet("# {{a}}\n", "markdown"), {"a": "x"}, "Mine")
    assert markdown.draft.title == "Mine"


def test_without_gates_they_are_sentences():
    """For those who have no means to open one."""
    filled = filling.fill(sheet(ORDERED), {"A": "x"}, gated=False)
    parts = list(filled.draft.walk())
    assert not any(p.checks or p.review or p.approval or p.artifact for p in parts)
    a = filled.draft.children[0].children[0]
    assert a.acceptance == (
        "sure",
        "`make test` passes",
        "`run x` passes",
        "Somebody else has approved it",
    )
    assert filled.draft.children[2].acceptance == (
        "`make test` passes",
        "What was made is handed in",
    )
    assert filled.draft.attributes == filling.fill(sheet(ORDERED), {"A": "x"}).draft.attributes


def test_a_value_never_becomes_a_slot_a_name_or_a_second_word():
    """Titles that look like the names of others are only titles; commands keep their words."""
    for value in ("{{ B }}", "@1", "@@1.1", "$1 \\1", "a; rm -rf", "'"):
        filled = filling.fill(sheet(ORDERED), {"A": value})
        planned = plan_of(filled.draft, lambda item: True)
        assert [part.outside for part in planned] == [()] * len(planned)
        assert filled.draft.children[0].title == f"One {value}"
        assert filled.draft.children[0].children[0].checks[1] == ("run", value)
    named = filling.fill(sheet(ORDERED), {"A": "x"}, "@@1").draft
    assert [phase.name for phase in named.children] == [place_name(n) for n in "123"]


def test_a_command_given_whole_is_held_to_the_rules_of_commands():
    """It is split into words and runs without a shell."""
    assert filling.fill(sheet(ORDERED), {"A": "x", "CMD": "a 'b c'"}).draft.children[2].checks == (
        ("a", "b c"),
    )
    with pytest.raises(InvalidInput, match="the value of 'CMD': '&&' needs a shell"):
        filling.fill(sheet(ORDERED), {"A": "x", "CMD": "a && b"})


def test_a_plan_does_not_grow_without_end():
    """Many slots with long values, and too much to keep with the plan."""
    many = (
        "name: A\nvariables: {V: {}}\nphases: [{name: P}]\ncontext: " + '"' + "{{ V }}" * 501 + '"'
    )
    with pytest.raises(InvalidInput, match="grow by more"):
        filling.fill(sheet(many), {"V": "x" * 2000})
    few = many.replace("{{ V }}" * 501, "{{ V }}" * 40)
    with pytest.raises(InvalidInput, match="the context of 'A' has more than"):
        filling.fill(sheet(few), {"V": "x" * 2000})


def test_markdown_is_filled_as_before():
    """With numbers and booleans as texts; anything else is refused."""
    text = "# Fix {{what}}\n{{why=No reason.}}\n## P\n- [ ] Do {{what}}\n"
    filled = filling.fill(sheet(text, "markdown"), {"what": 7})
    assert (filled.draft.title, filled.description) == ("Fix 7", "No reason.")
    assert filled.variables == {"what": "7", "why": "No reason."}
    assert filled.draft.attributes["template"]["version"] == canonical.text_digest(text)
    with pytest.raises(InvalidInput, match="the value of 'what' is not a text"):
        filling.fill(sheet(text, "markdown"), {"what": None})


def test_a_list_shows_every_template():
    """Of YAML and Markdown, and one that is broken with its problem."""
    entry = filling.entry(sheet(ORDERED))
    assert (entry.name, entry.category, entry.phases_count, entry.problem) == (
        "Ordered",
        "general",
        3,
        "",
    )
    assert [(one.name, one.required) for one in entry.variables] == [
        ("A", True), ("B", False), ("CMD", False),
    ]  # fmt: skip
    entry = filling.entry(sheet("# {{a}}\n{{b=text}}\n- [ ] T\n## P\n- [ ] U\n", "markdown"))
    assert (entry.name, entry.description, entry.phases_count) == ("One", "text", 1)
    assert [(one.name, one.required, one.default) for one in entry.variables] == [
        ("a", True, ""), ("b", False, "text"),
    ]  # fmt: skip
    for broken in (sheet("nam: x"), sheet("no heading", "markdown")):
        entry = filling.entry(broken)
        assert "line 1" in entry.problem
        assert (entry.slug, entry.name, entry.phases_count) == ("one", "one", 0)
    assert filling.unread("lost", "why").problem == "why"


scraps = st.sampled_from(
    ["name: A", "title: '{{ V }}'", "description: {{ V }}", "phases:", "  - name: P", "    tasks:", "      - T",
     "      - {name: '{{ V }}', verify: 'run {{ W }}'}", "    dependencies: [1, P]", "variables:", "  V:", "  W:",
     "    default: w", "    required: no", "    pattern: '(a|b)*'", "guidelines: [a, '{{ W }}']", "metadata: {a: [b]}",
     "context: |", "  {{ V }}", "- x", "{", "]", "\t", "&a *a", "!!int 1", "---", "\\{{", "    review: yes", "..."]
)  # fmt: skip
files = st.one_of(
    st.lists(scraps, max_size=14).map("\n".join),
    st.text(max_size=80),
    st.lists(st.one_of(scraps, st.text(max_size=10)), max_size=10).map("\n".join),
)
some_values = st.dictionaries(
    st.sampled_from(["V", "W", "x"]),
    st.one_of(
        st.text(max_size=12),
        st.none(),
        st.integers(),
        st.floats(),
        st.booleans(),
        st.lists(st.none()),
    ),
    max_size=3,
)


@given(text=files, values=some_values, form=st.sampled_from(["yaml", "yaml", "markdown"]))
def test_any_file_and_any_values_make_a_plan_or_a_refusal(text, values, form):
    """Never another error; a template that a list calls sound has all it needs to be filled."""
    entry = filling.entry(sheet(text, form))
    try:
        filled = filling.fill(sheet(text, form), values)
        plan_of(filled.draft, lambda item: False)
    except CounterpointError:
        return
    assert entry.problem == ""


plain = st.text(alphabet="ab {}$\\@1&'\"#-\n\t", max_size=10)


@given(a=plain, b=plain)
def test_values_change_texts_and_never_the_shape(a, b):
    """Whatever is given: as many phases and tasks, the same order; or a refusal."""
    try:
        filled = filling.fill(sheet(ORDERED), {"A": a, "B": b})
        planned = plan_of(filled.draft, lambda item: True)
    except InvalidInput:
        return
    usual = plan_of(filling.fill(sheet(ORDERED), {"A": "x"}).draft, lambda item: True)
    assert [(p.parent, p.needs, p.outside, p.draft.kind) for p in planned] == [
        (p.parent, p.needs, p.outside, p.draft.kind) for p in usual
    ]
