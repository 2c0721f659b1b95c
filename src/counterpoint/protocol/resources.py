"""Resources and prompts.

A prompt: a message for the model that a person picks and fills in.
A prompt is a decorated function, as a tool is; its arguments are texts, and it answers one text
(what the user says) or a list of `(role, text)`.

A resource: a document that a client reads by its address.
An address is fixed, or a template of RFC 6570 level 1: literal text with `{name}` in it, where a
name stands for one or more unreserved or percent-encoded characters. A fixed address wins over a
template; among templates the first that fits is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Concatenate, Generic, Literal, TypeVar, cast
from urllib.parse import unquote

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.arguments import check
from counterpoint.protocol.parameters import Parameters
from counterpoint.protocol.tools import first_paragraph

C = TypeVar("C")

Said = tuple[Literal["user", "assistant"], str]
"""Who says it, and what."""

Words = str | Sequence[Said]
"""What a prompt answers: the user's text, or a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Generic[C]):
    """One prepared message with its arguments."""

    name: str
    description: str
    function: Callable[Concatenate[C, ...], Words]
    parameters: Parameters = field(compare=False, repr=False)

    def listed(self) -> dict[str, Json]:
        """Return the prompt's entry in `prompts/list`."""
        properties = cast("dict[str, dict[str, Json]]", self.parameters.schema["properties"])
        arguments = [
            {
                "name": name,
                "description": properties[name].get("description", ""),
                "required": name in self.parameters.required,
            }
            for name in self.parameters.names
        ]
        return {"name": self.name, "description": self.description, "arguments": arguments}

    def speak(self, call: C, arguments: Mapping[str, Json]) -> list[Said]:
        """Return the messages; InvalidInput names every fault of the arguments."""
        words = self.function(call, **check(self.parameters, arguments).values)
        return [("user", words)] if isinstance(words, str) else list(words)


def prompt() -> Callable[[Callable[Concatenate[C, ...], Words]], Prompt[C]]:
    """Make a prompt of a function; TypeError if it cannot be one."""

    def wrap(function: Callable[Concatenate[C, ...], Words]) -> Prompt[C]:
        return Prompt(
            name=function.__name__.rstrip("_"),
            description=first_paragraph(function),
            function=function,
            parameters=Parameters(function),
        )

    return wrap


_VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VALUE = "(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[C]):
    """One document, or a family of documents under one template."""

    uri: str
    name: str
    description: str
    mime: str
    read: Callable[Concatenate[C, ...], str]
    _form: re.Pattern[str] = field(repr=False, compare=False)

    @property
    def is_template(self) -> bool:
        """Whether the address has variables."""
        return _VARIABLE.search(self.uri) is not None

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables that make the address this one, decoded; None if none do."""
        match = self._form.fullmatch(uri)
        if match is None:
            return None
        try:
            return {
                name: unquote(text, errors="strict") for name, text in match.groupdict().items()
            }
        except UnicodeDecodeError:
            return None

    def listed(self) -> dict[str, Json]:
        """Return the entry in `resources/list` or `resources/templates/list`."""
        return {
            "uriTemplate" if self.is_template else "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime,
        }


def resource(
    uri: str, *, mime: str = "text/markdown", name: str = ""
) -> Callable[[Callable[Concatenate[C, ...], str]], Resource[C]]:
    """Make a resource of a function whose parameters after the call are the variables."""
    pieces = _VARIABLE.split(uri)
    form = "".join(
        f"(?P<{piece}>{_VALUE})" if index % 2 else re.escape(piece)
        for index, piece in enumerate(pieces)
    )

    def wrap(read: Callable[Concatenate[C, ...], str]) -> Resource[C]:
        return Resource(
            uri=uri,
            name=name or read.__name__.rstrip("_"),
            description=first_paragraph(read),
            mime=mime,
            read=read,
            _form=re.compile(form),
        )

    return wrap


def open_resource(resources: Sequence[Resource[C]], uri: str) -> tuple[Resource[C], dict[str, str]]:
    """Return the resource at an address and its variables; NotFound if there is none."""
    # Sorting is stable: fixed addresses first, templates in the order of the surface.
    for candidate in sorted(resources, key=lambda entry: entry.is_template):
        variables = candidate.match(uri)
        if variables is not None:
            return candidate, variables
    raise NotFound(
        f"There is no resource {uri[:120]!r}",
        hint="Read `resources/list` and `resources/templates/list`.",
    )
