"""A prompt: a message for the model that a person picks and fills in.

A prompt is a decorated function, as a tool is; its arguments are texts, and it answers one text
(what the user says) or a list of `(role, text)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Concatenate, Generic, Literal, TypeVar, cast

from counterpoint.kernel.canonical import Json
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
