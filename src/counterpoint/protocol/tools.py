"""A tool: a plain function with a name, a schema and four annotations.

One decorated function is one tool: the function's name is the tool's (a trailing underscore goes),
the first paragraph of the docstring is its description, and the annotated parameters after the
first, which is the call, are its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, Generic, TypeVar

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.parameters import Parameters, Progress

__all__ = ["Json", "Progress", "Tool", "first_paragraph", "tool"]

C = TypeVar("C")


Elsewhere = Callable[[str], str]
"""(an argument that is not taken) → what is wrong with it, if something beside takes it; else empty."""


def nowhere(_name: str) -> str:
    """Say of an argument that nothing beside takes it."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Generic[C]):
    """What a call runs: a tool or one action of it, and the arguments that are left for it."""

    tool: Tool[C]
    arguments: Mapping[str, Json]
    elsewhere: Elsewhere = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[C]):
    """One thing that an agent can ask for."""

    name: str
    description: str
    function: Callable[Concatenate[C, ...], Json]
    parameters: Parameters = field(compare=False, repr=False)
    reads: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    output: Mapping[str, Json] | None = None
    meta: Mapping[str, Json] | None = None

    @property
    def annotations(self) -> dict[str, bool]:
        """All four hints; the protocol takes a missing one for the worst."""
        return {
            "readOnlyHint": self.reads,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }

    @property
    def where(self) -> tuple[str, int]:
        """The file and the line that define the tool."""
        code = inspect.unwrap(self.function).__code__
        return code.co_filename, code.co_firstlineno

    @property
    def parts(self) -> tuple[Tool[C], ...]:
        """What calls of it run: the tool itself, or each of its actions that is open."""
        return (self,)

    def chosen(self, arguments: Mapping[str, Json]) -> Chosen[C]:
        """Return what a call of these arguments runs; InvalidInput if they name nothing of it."""
        return Chosen(tool=self, arguments=arguments)

    def meant(self, arguments: Mapping[str, Json]) -> Tool[C] | None:
        """Return what a call of these arguments would run, open or not; None if they name nothing of it."""
        del arguments  # only of a tool made of several actions they say which
        return self

    def closes(self, part: Tool[C] | None) -> bool:
        """Whether a part of it is not for whom it was built."""
        del part
        return False

    def narrowed(self, keep: Callable[[Tool[C]], bool]) -> Tool[C] | None:
        """Return the tool with those of its parts alone that are to be kept; None without any."""
        return self if keep(self) else None

    def listed(self) -> dict[str, Json]:
        """Return the tool's entry in `tools/list`, keys in a fixed order."""
        entry: dict[str, Json] = {"name": self.name, "description": self.description}
        entry["inputSchema"] = self.parameters.schema
        if self.output is not None:
            entry["outputSchema"] = dict(self.output)
        entry["annotations"] = self.annotations
        if self.meta is not None:
            entry["_meta"] = dict(self.meta)
        return entry


def tool(
    *,
    reads: bool,
    destructive: bool = False,
    idempotent: bool = True,
    open_world: bool = False,
    aliases: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    trees: Collection[str] = (),
    output: Mapping[str, Json] | None = None,
    meta: Mapping[str, Json] | None = None,
) -> Callable[[Callable[Concatenate[C, ...], Json]], Tool[C]]:
    """Make a tool of a synchronous function; TypeError if it cannot be one.

    `aliases` maps other spellings to parameters; they and the parameters named in `hidden` are
    accepted but not shown. Of `trees` the tool checks the size itself. A tool that writes takes an idempotency key, one that only reads does not.
    """

    def wrap(function: Callable[Concatenate[C, ...], Json]) -> Tool[C]:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__}: a tool is a plain function, not a coroutine")
        return Tool(
            name=function.__name__.rstrip("_"),
            description=first_paragraph(function),
            function=function,
            parameters=Parameters(
                function, aliases=aliases, hidden=hidden, takes_key=not reads, trees=trees
            ),
            reads=reads,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            output=output,
            meta=meta,
        )

    return wrap


def first_paragraph(function: Callable[..., object]) -> str:
    """Return a docstring's first paragraph as one line; TypeError without a docstring."""
    text = inspect.cleandoc(function.__doc__ or "").strip()
    if not text:
        raise TypeError(f"{function.__name__}: the docstring is the description; write one")
    return " ".join(text.split("\n\n")[0].split())
