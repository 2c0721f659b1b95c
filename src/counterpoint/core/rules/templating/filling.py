"""Fills templates, and lists them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from counterpoint.core.model.drafts import Draft, place_name
from counterpoint.core.model.templates import (
    GENERAL,
    Filled,
    Template,
    TemplateEntry,
    TemplatePart,
    TemplateSource,
    Variable,
)
from counterpoint.core.rules import outline
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.core.rules.templating import reading
from counterpoint.core.rules.templating.reading import settle_values, text_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

_SLOT = re.compile(r"\{\{\s*([a-z][a-z0-9_]{0,63})\s*(?:=([^{}\n]*))?\}\}")
VALUE_LIMIT = 500


def variables(text: str) -> dict[str, str | None]:
    """Return every variable of a template with its default; None if it must be given."""
    defaults: dict[str, str | None] = {}
    for slot in _SLOT.finditer(text):
        if defaults.get(slot[1]) is None:
            defaults[slot[1]] = slot[2]
    return defaults


def fill_markdown(text: str, values: Mapping[str, str]) -> str:
    """Return the text with every slot filled; InvalidInput names all that is wrong.

    A value is one line, and one that begins a line is marked as text: it never adds structure.
    """
    defaults = variables(text)
    faults = [
        f"{name!r} is not a variable of this template" for name in values if name not in defaults
    ]
    faults += [
        f"{name!r} must be given"
        for name, default in defaults.items()
        if default is None and name not in values
    ]
    faults += [
        f"the value of {name!r} is not one line of at most {VALUE_LIMIT} characters"
        for name, value in values.items()
        if len(value.splitlines()) > 1 or len(value) > VALUE_LIMIT
    ]
    if faults:
        raise InvalidInput(
            "; ".join(faults), hint=f"The template has: {', '.join(defaults) or 'no variables'}."
        )

    parts: list[str] = []
    done = 0
    for slot in _SLOT.finditer(text):
        value = values.get(slot[1], defaults[slot[1]] or "")
        before = text[done : slot.start()]
        above, is_new, beside = before.rpartition("\n")
        begins = not beside.strip() and bool(is_new or not done)
        parts += (above, is_new, beside, outline.plain(value) if begins else value)
        done = slot.end()
    return "".join((*parts, text[done:]))


def entry(sheet: TemplateSource) -> TemplateEntry:
    """Return the entry of a sheet; a fault in it becomes the entry's `problem`."""
    try:
        if sheet.form == "markdown":
            return entry_of(sheet, _markdown(sheet))
        return entry_of(sheet, reading.load(sheet))
    except InvalidInput as fault:
        return entry_of(sheet, _bare(sheet, canonical.text_digest(sheet.text)), fault.message)


def unread(slug: str, problem: str) -> TemplateEntry:
    """Return the entry of a template whose file could not be read."""
    sheet = TemplateSource(slug=slug, text="", form="yaml", source="project")
    return entry_of(sheet, _bare(sheet, ""), problem)


def entry_of(sheet: TemplateSource, template: Template, problem: str = "") -> TemplateEntry:
    """Return the entry of a template that was read from a sheet."""
    return TemplateEntry(
        slug=sheet.slug,
        name=template.name,
        description=template.description,
        category=template.category,
        phases_count=len(template.phases),
        variables=template.variables,
        unused=template.unused,
        version=template.version,
        form=sheet.form,
        source=sheet.source,
        hides=sheet.hides,
        problem=problem,
    )


def _bare(sheet: TemplateSource, version: str) -> Template:
    return Template(slug=sheet.slug, name=sheet.slug, title=sheet.slug, version=version)


def _markdown(sheet: TemplateSource) -> Template:
    """Return what a Markdown template says of itself, with names where values must be given."""
    defaults = variables(sheet.text)
    needed = {name: name for name, default in defaults.items() if default is None}
    draft = outline.load(fill_markdown(sheet.text, needed))
    name = sheet.slug.replace("-", " ").replace("_", " ").capitalize()
    return Template(
        slug=sheet.slug,
        name=name,
        title=draft.title,
        version=canonical.text_digest(sheet.text),
        description=draft.body,
        category=GENERAL,
        variables=tuple(
            Variable(name=name, required=default is None, default=default or "")
            for name, default in defaults.items()
        ),
        phases=tuple(
            TemplatePart(place=str(index), name=child.title)
            for index, child in enumerate(draft.children, 1)
            if child.kind == "phase"
        ),
    )


GROWTH_LIMIT = 1_000_000
"""Characters that all values together may add to a template."""
ATTRIBUTE_LIMIT = 60_000
"""Bytes of JSON that a value kept with the plan may have."""

TEMPLATE = "template"
"""The attribute of a plan that says which template made it."""


def fill(
    sheet: TemplateSource, inputs: Mapping[str, Json], title: str = "", *, gated: bool = True
) -> Filled:
    """Return what a template becomes.

    title: takes the place of the title it would give. gated: whether commands, reviews and artifacts it
        asks for become gates, or sentences that must be true at the end.
    Raises MalformedDocument for the template, InvalidInput with all that is wrong with the values.
    """
    filled = (
        _from_markdown(sheet, inputs, title)
        if sheet.form == "markdown"
        else _from_yaml(sheet, inputs, title)
    )
    return _kept(filled if gated else replace(filled, draft=_ungated(filled.draft)))


def _from_yaml(sheet: TemplateSource, inputs: Mapping[str, Json], title: str) -> Filled:
    template = reading.load(sheet)
    values = settle_values(template.variables, inputs)
    filler = _Filler(template, values)
    draft = filler.draft(title)
    return Filled(
        template=entry_of(sheet, template),
        draft=draft,
        description=filler.text(template.description).strip(),
        context=filler.text(template.context).strip(),
        guidelines=filler.texts(template.guidelines),
        metadata=cast("dict[str, Json]", filler.json(template.metadata)),
        variables=values,
    )


def _from_markdown(sheet: TemplateSource, inputs: Mapping[str, Json], title: str) -> Filled:
    texts = {name: text_of(value) for name, value in inputs.items()}
    wrong = [name for name, text in texts.items() if text is None]
    if wrong:
        listed = ", ".join(map(repr, wrong))
        raise InvalidInput(f"the value of {listed} is not a text, a number, true or false")
    values = {name: text for name, text in texts.items() if text is not None}
    draft = outline.load(fill_markdown(sheet.text, values))
    defaults = {name: default or "" for name, default in variables(sheet.text).items()}
    return Filled(
        template=entry(sheet),
        draft=replace(draft, title=title or draft.title),
        description=draft.body,
        context="",
        guidelines=(),
        metadata={},
        variables=defaults | values,
    )


def _ungated(draft: Draft) -> Draft:
    """Return the draft with a sentence in place of each gate, for where nobody can open gates."""
    sentences = [f"`{shlex.join(argv)}` passes" for argv in draft.checks]
    sentences += ["Somebody else has approved it"] if draft.approval or draft.review else []
    sentences += ["What was made is handed in"] if draft.artifact else []
    return replace(
        draft,
        acceptance=(*draft.acceptance, *sentences),
        checks=(),
        approval=False,
        review=False,
        artifact=False,
        children=tuple(_ungated(child) for child in draft.children),
    )


def _kept(filled: Filled) -> Filled:
    """Return it with its draft saying what must be kept with the plan; InvalidInput if too much."""
    entry = filled.template
    origin: dict[str, Json] = {
        "slug": entry.slug,
        "name": entry.name,
        "version": entry.version,
        "source": entry.source,
        "variables": dict(filled.variables),
    }
    parts: dict[str, Json] = {
        TEMPLATE: origin,
        "context": filled.context,
        "guidelines": list(filled.guidelines),
        "metadata": dict(filled.metadata),
    }
    draft = replace(filled.draft, attributes={name: part for name, part in parts.items() if part})
    for part in draft.walk():
        for name, value in part.attributes.items():
            if len(canonical.dump_any(value).encode()) > ATTRIBUTE_LIMIT:
                raise InvalidInput(
                    f"the {name} of {part.title[:80]!r} has more than {ATTRIBUTE_LIMIT} bytes",
                    hint="Give shorter values.",
                )
    return replace(filled, draft=draft)


@dataclass(slots=True)
class _Filler:
    """Puts values into the texts of one template, as long as there is room."""

    template: Template
    values: Mapping[str, str]
    room: int = GROWTH_LIMIT

    def text(self, text: str) -> str:
        # Counted before it is filled: a short text may name a long value a thousand times.
        self.room -= sum(len(self.values[name]) for name in reading.names(text))
        if self.room < 0:
            raise InvalidInput(
                f"the values would make the plan grow by more than {GROWTH_LIMIT} characters",
                hint="Give shorter values.",
            )
        return reading.fill(text, self.values)

    def texts(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return texts filled; those that are empty then are left out."""
        return tuple(filled for text in texts if (filled := self.text(text).strip()))

    def words(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return short words: what stands between commas."""
        parts = (part.strip() for text in self.texts(texts) for part in text.split(","))
        return tuple(part for part in parts if part)

    def json(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            parts = cast("dict[str, Json]", value)
            return {name: self.json(part) for name, part in parts.items()}
        return [self.json(part) for part in cast("list[Json]", value)]

    def draft(self, title: str) -> Draft:
        """Return the draft of the plan; what it is for stands in its text."""
        template = self.template
        guidelines = "\n".join(f"- {line}" for line in self.texts(template.guidelines))
        parts = [*self.texts([template.description, template.context])]
        parts += [f"Guidelines:\n\n{guidelines}"] if guidelines else []
        return Draft(
            kind="plan",
            title=title or self.text(template.title).strip(),
            body="\n\n".join(parts),
            children=tuple(self.part(phase, "phase") for phase in template.phases),
        )

    def part(self, sketch: TemplatePart, kind: str) -> Draft:
        metadata = self.json(sketch.metadata)
        return Draft(
            kind="phase" if kind == "phase" else "task",
            title=self.text(sketch.name).strip(),
            name=place_name(sketch.place),
            body=self.text(sketch.description).strip(),
            needs=None if sketch.after is None else tuple(map(place_name, sketch.after)),
            areas=self.words(sketch.areas),
            acceptance=self.texts(sketch.acceptance),
            checks=tuple(argv for words in sketch.checks if (argv := self.command(words))),
            labels=self.words(sketch.labels),
            priority=sketch.priority,
            profile=self.text(sketch.profile).strip(),
            approval=sketch.approval,
            review=sketch.review,
            artifact=sketch.artifact,
            attributes={"metadata": metadata} if metadata else {},
            children=tuple(self.part(task, "task") for task in sketch.tasks),
            line=sketch.line,
        )

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return a command; a value that is all of it is split, any other stays one word of it."""
        filled = [self.text(word) for word in words]
        if len(words) > 1 or not _is_slot(words[0]):
            return tuple(
                # A slot that got nothing is no argument; an empty one that was written out is.
                new
                for new, old in zip(filled, words, strict=True)
                if new or not _is_slot(old)
            )
        if not filled[0].strip():
            return ()
        argv, problem = command_of(filled[0])
        if problem:
            raise InvalidInput(f"the value of {reading.names(words[0])[0]!r}: {problem}")
        return argv


def _is_slot(word: str) -> bool:
    """Whether a word is a slot and nothing else."""
    return word.startswith("{{") and word.find("}}") == len(word) - 2
