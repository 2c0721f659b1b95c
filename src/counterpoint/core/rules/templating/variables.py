"""Values for a template's variables: all that is wrong with them, or their texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from counterpoint.core.model.templates import Variable
from counterpoint.core.rules.templating import patterns
from counterpoint.core.rules.wording import control_fault
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

VALUE_LIMIT = 2000
"""Characters that a value may have."""
_WHOLE_LIMIT = 2**53
_SHOWN = 12
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
        values = ", ".join(map(repr, variable.allowed[:_SHOWN]))
        faults.append(
            f"it is not one of {values}{'' if len(variable.allowed) <= _SHOWN else ', …'}"
        )
    if variable.charset and _SETS[variable.charset].fullmatch(text) is None:
        faults.append(f"it has characters that are not {variable.charset}")
    if variable.pattern:
        if len(text) > patterns.TEXT_LIMIT:
            faults.append(f"it is longer than {patterns.TEXT_LIMIT} characters")
        elif not patterns.compile_pattern(variable.pattern).matches(text):
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
