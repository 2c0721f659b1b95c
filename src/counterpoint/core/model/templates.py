"""Templates of plans: the text of a file, what it says, and the plan made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import DEFAULT_PRIORITY
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.frozen import frozen

Form = Literal["yaml", "markdown"]
Source = Literal["project", "built_in"]

GENERAL = "general"
"""The category of a template that names none."""


@frozen
class TemplateSource:
    """The text of a template as its file has it.

    hides: other sheets of the same name, which this one is used instead of.
    """

    slug: str
    text: str
    form: Form
    source: Source
    hides: tuple[str, ...] = ()


@frozen
class Variable:
    """What whoever uses a template may or must say.

    required: whether a value must be given; the one rule: as said, else if there is no default.
    pattern: what the whole value must match; charset: the name of a set of characters.
    format: words for people about what a value looks like.
    """

    name: str
    required: bool
    description: str = ""
    default: str = ""
    pattern: str = ""
    charset: str = ""
    allowed: tuple[str, ...] = ()
    format: str = ""
    examples: tuple[str, ...] = ()


@frozen
class TemplatePart:
    """A phase or a task of a template, its texts not filled yet.

    place: its name inside of the template. after: places that must be done first; None means the
        usual order. line: where it begins in the file.
    """

    place: str
    name: str
    description: str = ""
    after: tuple[str, ...] | None = None
    areas: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    checks: tuple[tuple[str, ...], ...] = ()
    priority: int = DEFAULT_PRIORITY
    profile: str = ""
    approval: bool = False
    review: bool = False
    artifact: bool = False
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    tasks: tuple[TemplatePart, ...] = ()
    line: int = 0


@frozen
class Template:
    """What a template says.

    title: of the plans made from it. version: SHA-256 of its content; layout and comments of the file
        do not change it. unused: variables that stand nowhere in its texts.
    """

    slug: str
    name: str
    title: str
    version: str
    description: str = ""
    category: str = GENERAL
    variables: tuple[Variable, ...] = ()
    guidelines: tuple[str, ...] = ()
    context: str = ""
    phases: tuple[TemplatePart, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    unused: tuple[str, ...] = ()


@frozen
class TemplateEntry:
    """A template as a list shows it; one that cannot be used says why in `problem`."""

    slug: str
    name: str
    description: str
    category: str
    phases_count: int
    variables: tuple[Variable, ...]
    unused: tuple[str, ...]
    version: str
    form: Form
    source: Source
    hides: tuple[str, ...]
    problem: str = ""


@frozen
class Filled:
    """A template with its variables filled: the plan it would make, and what went into it.

    variables: every variable with the value that was used, given or by default.
    """

    template: TemplateEntry
    draft: Draft
    description: str
    context: str
    guidelines: tuple[str, ...]
    metadata: Mapping[str, Json]
    variables: Mapping[str, str]
