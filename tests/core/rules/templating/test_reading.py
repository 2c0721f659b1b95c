"""YAML templates: what they say, and every fault with its line."""

from __future__ import annotations

import pytest

from counterpoint.core.model.templates import TemplateSource, Variable
from counterpoint.core.rules.templating import reading
from counterpoint.kernel.errors import MalformedDocument

WHOLE = """\
name: Feature
title: "Build {{ NAME }}"
description: For {{NAME}}
category: work
context: |
  Of {{ NAME }}
guidelines: [small steps, "keep to {{ NAME }}"]
metadata:
  by: "{{ NAME }}"
  list: [a, {b: c}]
variables:
  NAME:
    description: What it is
    format: a noun
    pattern: '[A-Za-z ]+'
    example: Search
  SIZE:
    default: small
    allowed_values: [small]
    enum: [large]
    charset: alpha
    examples: [large]
  FREE:
    required: no
  SURE:
    required: true
    default: maybe
  BARE:
phases:
  - name: Design
    tasks:
      - Draw
      - name: Talk
        dependencies: [1]
  - name: Build {{ NAME }}
    description: With care
    dependencies: [1, Design]
    review: yes
    metadata: {k: v}
    tasks:
      - name: Hammer
        dependencies: [Talk]
        areas: [src, "{{ NAME }}"]
        labels: hard
        accept: it holds
        verify: make {{ NAME }} "x y"
        priority: 0
        profile: smith
        approval: true
        artifact: true
  - name: Free
    dependencies: []
    tasks:
"""


def sheet(text: str, **known: str) -> TemplateSource:
    """Answer a sheet of a text."""
    return TemplateSource(slug="one", text=text, form="yaml", source="project", **known)


def faults(text: str) -> list[tuple[int, str]]:
    """Answer what is wrong with a text, by line."""
    with pytest.raises(MalformedDocument) as caught:
        reading.load(sheet(text))
    assert "'one' cannot be used" in caught.value.message
    return [(fault["line"], fault["problem"]) for fault in caught.value.facts["faults"]]


def test_everything_a_template_says_is_read():
    """Texts with their slots, variables with their rules, work with its order."""
    read = reading.load(sheet(WHOLE))
    assert (read.name, read.title, read.category) == ("Feature", "Build {{ NAME }}", "work")
    assert (read.description, read.context) == ("For {{NAME}}", "Of {{ NAME }}\n")
    assert read.guidelines == ("small steps", "keep to {{ NAME }}")
    assert read.metadata == {"by": "{{ NAME }}", "list": ["a", {"b": "c"}]}
    assert read.unused == ("SIZE", "FREE", "SURE", "BARE")
    assert read.variables == (
        Variable(
            name="NAME", required=True, description="What it is", format="a noun",
            pattern="[A-Za-z ]+", examples=("Search",),
        ),
        Variable(
            name="SIZE", required=False, default="small", allowed=("small", "large"),
            charset="alpha", examples=("large",),
        ),
        Variable(name="FREE", required=False),
        Variable(name="SURE", required=True, default="maybe"),
        Variable(name="BARE", required=True),
    )  # fmt: skip
    design, build, free = read.phases
    assert [phase.after for phase in read.phases] == [None, ("1",), ()]
    assert [task.name for task in design.tasks] == ["Draw", "Talk"]
    assert [task.after for task in design.tasks] == [None, ("1.1",)]
    assert (build.description, build.review, build.metadata, build.line) == (
        "With care", True, {"k": "v"}, 35,
    )  # fmt: skip
    (hammer,) = build.tasks
    assert (hammer.after, hammer.areas, hammer.labels) == (
        ("1.2",),
        ("src", "{{ NAME }}"),
        ("hard",),
    )
    assert (hammer.acceptance, hammer.checks) == (("it holds",), (("make", "{{NAME}}", "x y"),))
    assert (hammer.priority, hammer.profile) == (0, "smith")
    assert (hammer.approval, hammer.artifact, hammer.review) == (True, True, False)
    assert free.tasks == ()


def test_the_version_is_that_of_the_content():
    """Layout, comments and order of keys do not change it; a word does."""
    plain = "name: A\nphases: [{name: P}]\n"
    other = '# said\nphases:\n  - name: "P"\nname: A\n'
    versions = {reading.load(sheet(text)).version for text in (plain, other)}
    assert len(versions) == 1
    assert reading.load(sheet(plain.replace("P", "Q"))).version not in versions
    assert len(versions.pop()) == 64


def test_the_title_and_the_category_have_usual_values():
    """The name serves as the title; a name is looked for before an order."""
    read = reading.load(
        sheet('name: A\nphases: [{name: "2"}, {name: B}, {name: C, dependencies: [2]}]\n')
    )
    assert (read.title, read.category, read.unused) == ("A", "general", ())
    assert read.phases[2].after == ("1",)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "made of keys"),
        ("[a]", 1, "made of keys"),
        ("nmae: A", 1, "did you mean 'name'?"),
        ("description: x", 1, "no `name`"),
        ("name: [a]", 1, "'name' is one text"),
        ("name: A", 1, "no phases"),
        ("name: A\nphases:\n  a: b", 2, "'phases' is a list"),
        ("name: A\nphases: x", 2, "'phases' is a list"),
        ("name: A\nphases:\n  - x", 3, "a phase is made of keys"),
        ("name: A\nphases:\n  - nam: x", 3, "'nam' is no key of a phase; did you mean 'name'"),
        ("name: A\nphases:\n  - {name: B}\n  - tasks: []", 4, "the phase has no name"),
        ("name: A\nphases:\n  - name: B\n    tasks: x", 4, "'tasks' is a list"),
        ("name: A\nphases:\n  - name: B\n    tasks:\n      - []", 5, "a task is made of keys"),
        ("name: A\nphases:\n  - name: B\n    tasks:\n      - ''", 5, "the task has no name"),
        ("name: A\nphases:\n  - name: B\n    tasks: [{name: C, notes: x}]", 4, "'notes' is no key"),
        ("name: A\nphases:\n  - name: B\n    review: perhaps", 4, "'review' is 'perhaps'"),
        ("name: A\nphases:\n  - name: B\n    review: [yes]", 4, "'review' is a list"),
        ("name: A\nphases:\n  - name: B\n    priority: 5", 4, "from 0 to 4"),
        ("name: A\nphases:\n  - name: B\n    verify: a && b", 4, "needs a shell"),
        ("name: A\nphases:\n  - name: B\n    metadata: x", 4, "'metadata' is made of keys"),
        ("name: A\nphases:\n  - name: B\n    metadata: {a: ['{{ X }}']}", 4, "declares none"),
        ("name: A\nphases:\n  - name: B\n    areas: {a: b}", 4, "'areas' is a list of texts"),
        ("name: A\nphases:\n  - name: B\n    areas:\n      - [a]", 5, "an entry of 'areas'"),
        ("name: A\nphases:\n  - name: B\n    dependencies: [B]", 4, "depends on itself"),
        ("name: A\nphases:\n  - name: B\n    dependencies: [1]", 4, "depends on itself"),
        ("name: A\nphases:\n  - name: B\n    dependencies: [0]", 4, "means nothing here"),
        ("name: A\nphases:\n  - name: B\n    dependencies: [2]", 4, "means nothing here"),
        ("name: A\nphases:\n  - name: B\n    dependencies: ['99999999']", 4, "means nothing"),
        ("name: A\nphases:\n  - name: B\n    dependencies: [C]", 4, "did you mean 'B'?"),
        (
            "name: A\nphases:\n - {name: B}\n - {name: B}\n - {name: C, dependencies: [B]}",
            5,
            "several",
        ),
        ("name: A\nvariables: x", 2, "'variables' is made of keys"),
        ("name: A\nvariables:\n  1a: {}", 3, "'1a' is no name"),
        ("name: A\nvariables:\n  X:\n    defalt: y", 4, "did you mean 'default'?"),
        ("name: A\nvariables:\n  X: text", 3, "a variable is made of keys"),
        ("name: A\nvariables:\n  X:\n    pattern: '(?=a)'", 4, "the pattern cannot be read"),
        ("name: A\nvariables:\n  X:\n    charset: slugs", 4, "did you mean 'slug'?"),
        (
            "name: A\nvariables:\n  X:\n    charset: alpha\n    default: '1'",
            5,
            "the default of 'X'",
        ),
        ("name: A\ntitle: '{{ X }}'\nvariables:\n  Y:", 2, "is not a variable; did you mean 'Y'?"),
        ("name: A\ntitle: '{{ X'", 2, "not closed"),
        ("name: A\ntitle: '{{ }}'", 2, "not closed or has no name"),
        ('name: A\ntitle: "a\\0b"', 2, "U+0000"),
        ('name: A\nmetadata:\n  a:\n    - "\\e"', 4, "U+001B"),
    ],
)
def test_a_fault_is_named_with_its_line(text, line, words):
    """Whatever is not as the format says."""
    assert [
        (found, problem) for found, problem in faults(text) if found == line and words in problem
    ]


def test_all_faults_are_told_together_in_order():
    """One look is enough to mend a file."""
    found = faults("nam: A\nguidelines: {a: b}\nphases:\n  - name: '{{ X }}'\n    tasks: [{}]\n")
    assert [line for line, _ in found] == sorted(line for line, _ in found)
    assert len(found) == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "variables: {" + ", ".join(f"V{n}: {{}}" for n in range(101)) + "}",
            "more than 100 variables",
        ),
        ("guidelines: [" + ", ".join("x" * 201) + "]", "more than 200 entries"),
        (
            "variables: {" + ", ".join(f"V{n}: {{pattern: '.{{1000}}'}}" for n in range(5)) + "}",
            "together",
        ),
    ],
)
def test_a_template_has_limits(text, words):
    """On variables, entries of a list, and what all patterns together cost."""
    ((line, problem),) = faults(f"name: A\nphases: [{{name: P}}]\n{text}\n")
    assert line == 3
    assert words in problem


def test_broken_yaml_is_refused_with_its_line():
    with pytest.raises(MalformedDocument, match="line 2"):
        reading.load(sheet("name: A\nname: B\n"))
