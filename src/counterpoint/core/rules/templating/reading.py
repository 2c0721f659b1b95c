r"""Reads templates: parts, variables, patterns and placeholders.

Patterns for values: regular expressions that take no longer for any text.
A pattern is of RE2's notation and matches a text if and only if it matches the whole of it. Sets and
classes such as `\w` are of ASCII; lookarounds and backward references are refused.

A pattern comes from a file anybody may have written, and an engine that backtracks can be made to take
years by one of them. RE2 takes a time that grows with the text alone; what a pattern grows to inside of
it is limited here.

The places in a template's texts where values go: `{{ name }}`.
Rules: (1) between the braces stands the name of a declared variable, with or without blanks around it,
on one line. (2) `\{{` is a plain `{{`. (3) All slots of a text are filled in one pass: whatever a value
looks like, nothing in it is read again.

Templates written in YAML: read with every fault and its line.

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

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, Literal, cast

from counterpoint.core.model.templates import (
    GENERAL,
    Template,
    TemplatePart,
    TemplateSource,
    Variable,
)
from counterpoint.core.model.work import DEFAULT_PRIORITY, PRIORITIES
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.core.rules.wording import control_fault
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.yamltext import Way, YamlText, parse_bool, parse_int, read_yaml

TEXT_LIMIT: Final = 500
"""Letters that a text may have to be matched."""
SIZE_LIMIT: Final = 10_000
"""Instructions that a pattern may become; a part that is repeated counts each time."""
_LENGTH_LIMIT: Final = 500


class Pattern:
    """A pattern that was read."""

    def __init__(self, text: str) -> None:
        """Read a pattern; InvalidInput says what is wrong with it."""
        if len(text) > _LENGTH_LIMIT:
            raise InvalidInput(f"the pattern is longer than {_LENGTH_LIMIT} characters")
        import re2  # few commands meet a pattern, and all would wait for it

        options = re2.Options()
        options.log_errors = False  # a fault is told to the caller, never to standard error
        options.never_capture = True
        try:
            self._compiled = re2.compile(text, options)
        except (re2.error, UnicodeEncodeError) as fault:
            raise InvalidInput(
                f"the pattern cannot be read: {_words(fault)}",
                hint="Letters, sets, groups, `|` and repeats of up to 1,000 are understood.",
            ) from fault
        if self.size > SIZE_LIMIT:
            raise InvalidInput(
                "the pattern is too large", hint="Repeat less in it, or use a `charset`."
            )

    @property
    def size(self) -> int:
        """How many instructions it became."""
        return self._compiled.programsize

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text, of at most `TEXT_LIMIT` letters."""
        # Half a character has no UTF-8, but is refused elsewhere and in better words.
        return self._compiled.fullmatch(text.encode("utf-8", "surrogatepass")) is not None


def _words(fault: Exception) -> str:
    """Return what an error of the engine says, which it gives as bytes."""
    message = fault.args[0] if fault.args else ""
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(fault)


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Return the pattern of a text, which is read once; InvalidInput says what is wrong with it."""
    return Pattern(text)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""What the name of a variable looks like."""
_SLOT = re.compile(r"\\\{\{|\{\{([^{}\n]*)\}\}|\{\{")
_PLAIN = "\\{{"


def names(text: str) -> list[str]:
    """Return the names in the slots of a text, in order; empty for one that is not closed."""
    return [(slot[1] or "").strip() for slot in _SLOT.finditer(text) if slot[0] != _PLAIN]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its slots filled; every name has a value."""
    return _SLOT.sub(lambda slot: "{{" if slot[0] == _PLAIN else values[slot[1].strip()], text)


def tighten_slots(text: str) -> str:
    """Return a text without the blanks inside of slots, so that none is split at blanks."""
    return _SLOT.sub(
        lambda slot: slot[0] if slot[1] is None else f"{{{{{slot[1].strip()}}}}}", text
    )


VALUE_LIMIT = 2000
"""Characters that a value may have."""
_WHOLE_LIMIT = 2**53
_SHOWN_VARIABLES = 12
"""Control characters and halves of characters."""

_SETS = {
    "alpha": re.compile(r"[A-Za-z]*"),
    "alnum": re.compile(r"[A-Za-z0-9]*"),
    "slug": re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*|"),
    "snake_case": re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*|"),
    "path_segment": re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]*"),
    "printable": re.compile(r"[^\t\n\r]*"),
}
CHARSETS = tuple(_SETS)
"""The sets of characters a variable may name."""


def text_of(value: Json) -> str | None:
    """Return a value as text: texts, numbers, true and false; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    # Beyond it a number is not the one that was meant; infinity and no number fail here too.
    is_number = isinstance(value, int | float) and abs(value) < _WHOLE_LIMIT
    return str(value) if is_number else None


def value_faults(variable: Variable, text: str) -> list[str]:
    """Return all that is wrong with a value of a variable."""
    if len(text) > VALUE_LIMIT:
        return [f"it is longer than {VALUE_LIMIT} characters"]
    faults = [fault for fault in (control_fault(text),) if fault]
    if variable.required and not text.strip():
        faults.append("it is empty")
    if variable.allowed and text not in variable.allowed:
        values = ", ".join(map(repr, variable.allowed[:_SHOWN_VARIABLES]))
        faults.append(
            f"it is not one of {values}{'' if len(variable.allowed) <= _SHOWN_VARIABLES else ', …'}"
        )
    if variable.charset and _SETS[variable.charset].fullmatch(text) is None:
        faults.append(f"it has characters that are not {variable.charset}")
    if variable.pattern:
        if len(text) > TEXT_LIMIT:
            faults.append(f"it is longer than {TEXT_LIMIT} characters")
        elif not compile_pattern(variable.pattern).matches(text):
            faults.append(f"it does not match {variable.pattern}")
    return faults


def settle_values(variables: Sequence[Variable], inputs: Mapping[str, Json]) -> dict[str, str]:
    """Return the value of every variable, given or by default.

    Raises InvalidInput with all that is wrong; its facts list the names `missing` and `unknown`.
    """
    by_name = {variable.name: variable for variable in variables}
    unknown = [name for name in inputs if name not in by_name]
    missing = [
        variable.name for variable in variables if variable.required and variable.name not in inputs
    ]
    faults = [_unknown(name, list(by_name)) for name in unknown]
    faults += [f"{name!r} must be given: {_wanted(by_name[name])}" for name in missing]
    values = {variable.name: variable.default for variable in variables}
    for name in (name for name in inputs if name in by_name):
        text = text_of(inputs[name])
        if text is None:
            faults.append(f"the value of {name!r} is not a text, a number, true or false")
            continue
        values[name] = text
        wrong = value_faults(by_name[name], text)
        if wrong:
            faults.append(f"the value of {name!r}: {'; '.join(wrong)} ({_wanted(by_name[name])})")
    if faults:
        raise InvalidInput(
            "; ".join(faults),
            hint=f"The template has: {', '.join(by_name) or 'no variables'}.",
            missing=missing,
            unknown=unknown,
        )
    return values


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a question for the known name that is nearest; empty if there is none."""
    near = get_close_matches(name[:100], names, n=1, cutoff=0.0)
    return f"; did you mean {near[0]!r}?" if near else ""


def _unknown(name: str, names: Sequence[str]) -> str:
    return f"{name[:100]!r} is not a variable of this template{nearest(name, names)}"


def _wanted(variable: Variable) -> str:
    """Return in words what a value of a variable is for."""
    parts = [variable.description.strip() or "it has no description"]
    if variable.format:
        parts.append(f"format: {variable.format}")
    if variable.examples:
        parts.append(f"for example {variable.examples[0]!r}")
    return "; ".join(parts)


LIST_LIMIT = 200
"""Entries that a list of texts may have."""


class Parts:
    """Hears the parts of a document and remembers, with its line, what it could not hear.

    declared: the variables that a slot may name; used: those that one has named.
    """

    def __init__(self, yaml: YamlText) -> None:
        """Begin with nothing declared and nothing wrong."""
        self.yaml: YamlText = yaml
        self.faults: list[tuple[int, str]] = []
        self.declared: tuple[str, ...] = ()
        self.used: set[str] = set()

    def fault(self, path: Way, problem: str) -> None:
        """Note a fault, with the line of the part."""
        self.faults.append((self.yaml.line(*path), problem))

    def mapping(self, path: Way, value: Json, keys: Sequence[str], what: str) -> dict[str, Json]:
        """Return a mapping with known keys; anything else is a fault and an empty one."""
        if not isinstance(value, dict):
            self.fault(path, f"{what} is made of keys and values")
            return {}
        parts = cast("dict[str, Json]", value)
        for key in parts:
            if key not in keys:
                question = nearest(key, keys)
                self.fault((*path, key), f"{key[:100]!r} is no key of {what}{question}")
        return parts

    def letters(self, path: Way, value: Json) -> None:
        """Refuse control characters, wherever they stand."""
        if isinstance(value, str):
            problem = control_fault(value)
            if problem:
                self.fault(path, problem)
            return
        for key, part in _parts(value):
            self.letters((*path, key), part)

    def text(self, path: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True) -> str:
        """Return one text; anything else is a fault and an empty one."""
        value = at.get(key, "")
        if not isinstance(value, str):
            self.fault((*path, key), f"{key!r} is one text")
            return ""
        return self.slotted((*path, key), value) if has_slots else value

    def texts(
        self, path: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True
    ) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of it."""
        value = at.get(key, "")
        listed = ([value] if value else []) if isinstance(value, str) else value
        if not isinstance(listed, list):
            self.fault((*path, key), f"{key!r} is a list of texts")
            return ()
        texts: list[str] = []
        for index, entry in enumerate(cast("list[Json]", listed)):
            if not isinstance(entry, str):
                self.fault((*path, key, index), f"an entry of {key!r} is one text")
                continue
            texts.append(self.slotted((*path, key, index), entry) if has_slots else entry)
        if len(texts) > LIST_LIMIT:
            self.fault((*path, key), f"{key!r} has more than {LIST_LIMIT} entries")
        return tuple(texts)

    def slotted(self, path: Way, text: str) -> str:
        """Return a text whose slots all name declared variables, else note the fault."""
        for name in names(text):
            if name in self.declared:
                self.used.add(name)
            elif not name:
                self.fault(
                    path, r"a slot `{{ }}` is not closed or has no name; `\{{` is plain text"
                )
            else:
                question = nearest(name, self.declared) or "; the template declares none"
                self.fault(path, f"{{{{ {name[:100]} }}}} is not a variable{question}")
        return text

    def named(self, path: Way, at: Mapping[str, Json], key: str) -> dict[str, Json]:
        """Return what is made of keys and values; anything else is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
        if value != "":
            self.fault((*path, key), f"{key!r} is made of keys and values")
        return {}

    def listed(self, path: Way, at: Mapping[str, Json], key: str) -> list[Json]:
        """Return a list of anything; what is none is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, list):
            return cast("list[Json]", value)
        if value != "":
            self.fault((*path, key), f"{key!r} is a list")
        return []

    def metadata(self, path: Way, at: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return keys and values of any shape, with slots in their texts."""
        parts = self.named(path, at, "metadata")
        self._slotted_json((*path, "metadata"), parts)
        return parts

    def _slotted_json(self, path: Way, value: Json) -> None:
        if isinstance(value, str):
            self.slotted(path, value)
            return
        for key, part in _parts(value):
            self._slotted_json((*path, key), part)

    def flag(self, path: Way, at: Mapping[str, Json], key: str, usual: bool) -> bool:
        """Return true or false; anything else is a fault and the usual one."""
        if at.get(key, "") == "":
            return usual
        try:
            return parse_bool(key, at[key])
        except MalformedDocument as fault:
            self.fault((*path, key), fault.message)
            return usual

    def priority(self, path: Way, at: Mapping[str, Json]) -> int:
        """Return the priority of a piece of work."""
        if at.get("priority", "") == "":
            return DEFAULT_PRIORITY
        try:
            return parse_int("priority", at["priority"], least=PRIORITIES[0], most=PRIORITIES[-1])
        except MalformedDocument as fault:
            self.fault((*path, "priority"), fault.message)
            return DEFAULT_PRIORITY


def _parts(value: Json) -> Iterable[tuple[str | int, Json]]:
    """Return the parts of a mapping or a list, each with its key or its place."""
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).items()
    return enumerate(cast("list[Json]", value))


VARIABLE_LIMIT = 100
"""Variables that a template may have."""
PATTERNS_LIMIT = 2 * SIZE_LIMIT
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
        size = sum(compile_pattern(variable.pattern).size for variable in variables)
        if size > PATTERNS_LIMIT:
            self.fault(("variables",), "the patterns of the variables are too large together")
        return variables

    def variable(self, name: str, document: Json) -> Variable:
        path = ("variables", name)
        if NAME.fullmatch(name) is None:
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
            compile_pattern(text)
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
            argv, problem = command_of(tighten_slots(text))
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
