"""What a list of templates shows of each, also of one that cannot be used."""

from __future__ import annotations

from counterpoint.core.model.templates import (
    GENERAL,
    Template,
    TemplateEntry,
    TemplatePart,
    TemplateSource,
    Variable,
)
from counterpoint.core.rules import outline
from counterpoint.core.rules.templating import markdown, reading
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput


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
    defaults = markdown.variables(sheet.text)
    needed = {name: name for name, default in defaults.items() if default is None}
    draft = outline.load(markdown.fill(sheet.text, needed))
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
