r"""Templates written in YAML: read with every fault and its line.

    name: words                      what the template is called
    title: words                     of the plans made from it; the name if there is none
    description, category, context   texts; the category is `general` if there is none
    guidelines: [text, …]            what whoever works on the plan should keep to
    metadata: {…}                    anything; kept with the plan
    variables:
      NAME:
        description, format: text    for people
        required: true               the default, unless there is a `default`
        default: text                used if no value is given
        pattern: text                what the whole value must match (see `patterns`)
        charset: word                alpha, alnum, slug, snake_case, path_segment or printable
        allowed_values: [text, …]    also `enum`
        examples: [text, …]          also `example`
    phases:
      - name: text
        description: text
        dependencies: [1, name]      phases by their order or name; absent: the phase before; []: none
        metadata: {…}
        tasks:
          - a text is the name of a task
          - name: text
            dependencies: [1, name]  tasks of this phase by order, any task by its name

Phases and tasks may also have what those of a Markdown plan have: `areas`, `labels`, `accept`, `verify`,
`priority`, `profile`, `approval`, `review`, `artifact`. `{{ NAME }}` stands in any text outside of
`variables` and `category`.

Valid if and only if (1) it is valid YAML as `kernel.yamltext` has it, (2) every key is one of those
above, (3) there is a name and at least one phase, and each phase and task has a name, (4) every slot
names a declared variable, (5) every dependency means one other phase or task, (6) every default is a
value its variable takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

from counterpoint.core.model.templates import (
    GENERAL,
    Template,
    TemplatePart,
    TemplateSource,
    Variable,
)
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.core.rules.templating import patterns, placeholders
from counterpoint.core.rules.templating.parts import LIST_LIMIT, Parts
from counterpoint.core.rules.templating.variables import CHARSETS, nearest, value_faults
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.yamltext import Way, read_yaml

VARIABLE_LIMIT = 100
"""Variables that a template may have."""
PATTERNS_LIMIT = 2 * patterns.SIZE_LIMIT
"""Instructions that all their patterns together may become."""
_SHOWN = 20

_TOP = (
    *("name", "title", "description", "category", "variables", "guidelines", "context"),
    *("metadata", "phases"),
)
_VARIABLE = (
    *("description", "required", "default", "pattern", "charset", "allowed_values", "enum"),
    *("format", "examples", "example"),
)
_WORK = (
    *("name", "description", "dependencies", "areas", "labels", "accept", "verify", "priority"),
    *("profile", "approval", "review", "artifact", "metadata"),
)
_PHASE = (*_WORK, "tasks")


class _Reader(Parts):
    """Reads the value of a document as a template."""

    def read(self, slug: str) -> Template:
        top = self.mapping((), self.yaml.value, _TOP, "a template")
        self.letters((), self.yaml.value)
        variables = self.variables(top)
        self.declared = tuple(variable.name for variable in variables)
        name = self.text((), top, "name")
        phases = self.phases(top)
        template = Template(
            slug=slug,
            name=name,
            title=self.text((), top, "title") or name,
            version=canonical.text_digest(canonical.dump_any(self.yaml.value)),
            description=self.text((), top, "description"),
            category=self.text((), top, "category", has_slots=False) or GENERAL,
            variables=variables,
            guidelines=self.texts((), top, "guidelines"),
            context=self.text((), top, "context"),
            phases=phases,
            metadata=self.metadata((), top),
            unused=tuple(name for name in self.declared if name not in self.used),
        )
        if not name.strip():
            self.fault((), "the template has no `name`")
        return template

    def variables(self, top: Mapping[str, Json]) -> tuple[Variable, ...]:
        entries = self.named((), top, "variables")
        if len(entries) > VARIABLE_LIMIT:
            self.fault(("variables",), f"there are more than {VARIABLE_LIMIT} variables")
        variables = tuple(self.variable(name, entry) for name, entry in entries.items())
        size = sum(patterns.compile_pattern(variable.pattern).size for variable in variables)
        if size > PATTERNS_LIMIT:
            self.fault(("variables",), "the patterns of the variables are too large together")
        return variables

    def variable(self, name: str, document: Json) -> Variable:
        path = ("variables", name)
        if placeholders.NAME.fullmatch(name) is None:
            self.fault(path, f"{name[:100]!r} is no name: use letters, digits and `_`")
        keys = self.mapping(path, document or {}, _VARIABLE, "a variable")
        allowed = self.either(path, keys, "allowed_values", "enum")
        variable = Variable(
            name=name,
            description=self.text(path, keys, "description", has_slots=False),
            required=self.flag(path, keys, "required", "default" not in keys),
            default=self.text(path, keys, "default", has_slots=False),
            pattern=self.pattern(path, keys),
            charset=self.charset(path, keys),
            allowed=allowed,
            format=self.text(path, keys, "format", has_slots=False),
            examples=self.either(path, keys, "examples", "example"),
        )
        for problem in value_faults(variable, variable.default) if variable.default else ():
            self.fault((*path, "default"), f"the default of {name!r}: {problem}")
        return variable

    def either(self, path: Way, at: Mapping[str, Json], key: str, other: str) -> tuple[str, ...]:
        return (
            *self.texts(path, at, key, has_slots=False),
            *self.texts(path, at, other, has_slots=False),
        )

    def pattern(self, path: Way, at: Mapping[str, Json]) -> str:
        text = self.text(path, at, "pattern", has_slots=False)
        try:
            patterns.compile_pattern(text)
        except InvalidInput as fault:
            self.fault((*path, "pattern"), fault.message)
            return ""
        return text

    def charset(self, path: Way, at: Mapping[str, Json]) -> str:
        word = self.text(path, at, "charset", has_slots=False)
        if word and word not in CHARSETS:
            self.fault(
                (*path, "charset"), f"there is no charset {word[:100]!r}{nearest(word, CHARSETS)}"
            )
            return ""
        return word

    def phases(self, top: Mapping[str, Json]) -> tuple[TemplatePart, ...]:
        document = self.listed((), top, "phases")
        if not document:
            self.fault(("phases",), "the template has no phases")
        return self._linked(
            [self.phase(index, part) for index, part in enumerate(document)], document
        )

    def phase(self, index: int, document: Json) -> TemplatePart:
        path: Way = ("phases", index)
        keys = self.mapping(path, document, _PHASE, "a phase")
        tasks = tuple(
            self.task((*path, "tasks", number), f"{index + 1}.{number + 1}", part)
            for number, part in enumerate(self.listed(path, keys, "tasks"))
        )
        return replace(self.sketch(path, str(index + 1), keys, "phase"), tasks=tasks)

    def task(self, path: Way, number: str, document: Json) -> TemplatePart:
        if isinstance(document, str):
            document = {"name": document}
        keys = self.mapping(path, document, _WORK, "a task")
        return self.sketch(path, number, keys, "task")

    def sketch(
        self, path: Way, number: str, at: Mapping[str, Json], what: Literal["phase", "task"]
    ) -> TemplatePart:
        name = self.text(path, at, "name")
        if not name.strip():
            self.fault(path, f"the {what} has no name")
        return TemplatePart(
            place=number,
            name=name,
            description=self.text(path, at, "description"),
            areas=self.texts(path, at, "areas"),
            labels=self.texts(path, at, "labels"),
            acceptance=self.texts(path, at, "accept"),
            checks=self.checks(path, at),
            priority=self.priority(path, at),
            profile=self.text(path, at, "profile"),
            approval=self.flag(path, at, "approval", usual=False),
            review=self.flag(path, at, "review", usual=False),
            artifact=self.flag(path, at, "artifact", usual=False),
            metadata=self.metadata(path, at),
            line=self.yaml.line(*path),
        )

    def checks(self, path: Way, at: Mapping[str, Json]) -> tuple[tuple[str, ...], ...]:
        """Return commands as lists of words: a value never becomes several words of one."""
        commands: list[tuple[str, ...]] = []
        for index, text in enumerate(self.texts(path, at, "verify")):
            argv, problem = command_of(placeholders.tighten_slots(text))
            if problem:
                self.fault((*path, "verify", index), problem)
            commands.append(argv)
        return tuple(commands)

    def _linked(
        self, phases: Sequence[TemplatePart], documents: Sequence[Json]
    ) -> tuple[TemplatePart, ...]:
        """Return the phases with every dependency as the place that it means."""
        # Only now: a dependency may name what stands further down.
        by_name = _places(phases)
        tasks = _places(task for phase in phases for task in phase.tasks)
        linked: list[TemplatePart] = []
        for index, phase in enumerate(phases):
            path: Way = ("phases", index)
            inner = tuple(
                replace(
                    task,
                    after=self.after((*path, "tasks", number), task, document, tasks, phase.tasks),
                )
                for number, (task, document) in enumerate(
                    zip(phase.tasks, _tasks_of(documents[index]), strict=True)
                )
            )
            after = self.after(path, phase, documents[index], by_name, phases)
            linked.append(replace(phase, tasks=inner, after=after))
        return tuple(linked)

    def after(
        self,
        path: Way,
        sketch: TemplatePart,
        document: Json,
        by_name: Mapping[str, list[str]],
        siblings: Sequence[TemplatePart],
    ) -> tuple[str, ...] | None:
        """Return the places that must be done first: a name is looked for before an order."""
        if not isinstance(document, dict) or "dependencies" not in document:
            return None
        at = cast("dict[str, Json]", document)
        numbers: list[str] = []
        names = self.texts(path, at, "dependencies", has_slots=False)
        for number, name in enumerate(names):
            places = by_name.get(name.strip(), [])
            # Python takes long to read a number of many thousand digits.
            if not places and name.strip().isdecimal() and len(name) < len(str(LIST_LIMIT * 100)):
                order = int(name)
                places = [siblings[order - 1].place] if 0 < order <= len(siblings) else []
            problem = _dependency_fault(name, places, sketch, list(by_name))
            if problem:
                self.fault((*path, "dependencies", number), problem)
            else:
                numbers.append(places[0])
        return tuple(dict.fromkeys(numbers))


def _dependency_fault(
    name: str, places: Sequence[str], sketch: TemplatePart, names: Sequence[str]
) -> str:
    if not places:
        return f"the dependency {name[:100]!r} means nothing here{nearest(name, names)}"
    if len(places) > 1:
        return f"the dependency {name[:100]!r} means several: give them different names"
    return "it depends on itself" if places[0] == sketch.place else ""


def _places(sketches: Iterable[TemplatePart]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for sketch in sketches:
        places.setdefault(sketch.name.strip(), []).append(sketch.place)
    return places


def _tasks_of(document: Json) -> list[Json]:
    tasks: Json = (
        cast("dict[str, Json]", document).get("tasks") if isinstance(document, dict) else None
    )
    return cast("list[Json]", tasks) if isinstance(tasks, list) else []


def load(sheet: TemplateSource) -> Template:
    """Return what a YAML template says; MalformedDocument names every line at fault."""
    reader = _Reader(read_yaml(sheet.text))
    template = reader.read(sheet.slug)
    if not reader.faults:
        return template
    faults = sorted(set(reader.faults))
    text = "; ".join(f"line {line}: {problem}" for line, problem in faults[:_SHOWN])
    raise MalformedDocument(
        f"the template {sheet.slug!r} cannot be used: {text}",
        hint="Mend the lines named in the message of its file.",
        faults=[{"line": line, "problem": problem} for line, problem in faults],
    )
