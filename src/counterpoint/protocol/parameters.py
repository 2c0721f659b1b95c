"""The parameters of a tool: read from its signature, shown as JSON Schema.

A function's first parameter is the call; every other one is an argument, described by its
annotation (`Annotated[type, Field(...)]`). Nothing is worked out before it is asked for, and each
answer is kept: a server that only routes never builds a schema.

The schema shown is lean: see `counterpoint.protocol.schema`. Two sorts of argument are accepted without
being shown: other spellings (`aliases`) and parameters named in `hidden`. A tool that writes takes an
idempotency key as well, which never reaches the function; nor does what is taken `beside`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

import typing_extensions

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.schema import described_at, lean

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

KEY = "idempotency_key"
KEY_LENGTH = 128


class Progress(Protocol):
    """What a long tool calls to say how far it is; a tool asks for it by a parameter."""

    def __call__(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell the client; nothing is sent to one that did not ask."""
        ...


class Parameters:
    """What a function takes from its caller, as names, validator and schema."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        aliases: Mapping[str, str] | None = None,
        hidden: Collection[str] = (),
        takes_key: bool = False,
        trees: Collection[str] = (),
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """Read the signature; TypeError if the function cannot be a tool.

        trees: arguments of any size, which the function checks itself. beside: annotations of arguments that are taken
        too, all of them optional; what runs the tool sees them, the function does not.
        """
        self.function = function
        self.aliases: dict[str, str] = dict(aliases or {})
        self.hidden = frozenset(hidden)
        self.takes_key = takes_key
        self.trees = frozenset(trees)
        self.beside: dict[str, Any] = dict(beside or {})
        self._signature = dict(list(inspect.signature(function).parameters.items())[1:])
        self._check_declaration()

    def joined(self, beside: Mapping[str, Any], aliases: Mapping[str, str]) -> Parameters:
        """Return these parameters with others beside them, as far as the function has none of the name itself."""
        more = {name: hint for name, hint in beside.items() if name not in self.own}
        spelled = {
            name: meaning
            for name, meaning in aliases.items()
            if name not in self.own and meaning in more
        }
        return Parameters(
            self.function,
            aliases={**self.aliases, **spelled},
            hidden=self.hidden,
            takes_key=self.takes_key,
            trees=self.trees,
            beside={**self.beside, **more},
        )

    @cached_property
    def progress(self) -> str | None:
        """The parameter that takes a `Progress`, if there is one."""
        return next((name for name, hint in self._hints.items() if hint is Progress), None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The arguments that the schema shows, in the order of the signature."""
        return tuple(name for name in self._fields if self._is_shown(name))

    @property
    def own(self) -> frozenset[str]:
        """The names of the signature and other spellings of them, without looking at any annotation."""
        return frozenset((*self._signature, *self.aliases))

    @cached_property
    def accepted(self) -> frozenset[str]:
        """Every name that a call may give: what is shown, what is not, and other spellings."""
        return frozenset((*self._fields, *self.aliases))

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The arguments that every call must give."""
        return tuple(
            name
            for name in self._fields
            if name in self._signature and self._signature[name].default is inspect.Parameter.empty
        )

    @cached_property
    def validator(self) -> SchemaValidator:
        """Pydantic's compiled validator of a call's arguments."""
        return cast("SchemaValidator", self._adapter.validator)

    @cached_property
    def whole(self) -> dict[str, Json]:
        """The lean schema with the arguments that are not shown."""
        return lean(self._adapter.json_schema(), defaults=self._defaults)

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The lean schema as clients see it."""
        lean = dict(self.whole)
        every = cast("dict[str, Json]", lean.get("properties", {}))
        lean["properties"] = {name: every[name] for name in self.names}
        required = [name for name in self.required if name not in self.hidden]
        if required:
            lean["required"] = required
        else:
            lean.pop("required", None)
        return lean

    def described_at(self, path: Sequence[str | int]) -> dict[str, str]:
        """Return the names that an object at a place in the arguments may have, each with its description.

        The schema may leave out what stands deeper: then they are those of the type.
        """
        descriptions = described_at(self.whole if path else self.schema, tuple(path))
        if descriptions or not path:
            return descriptions
        first, *inner_path = path
        inner = _fields_at(self._fields.get(str(first)), inner_path)
        return {name: _description(hint) for name, hint in inner.items()}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        """The annotations as objects; the call's own annotation is never needed."""
        notes = {name: part.annotation for name, part in self._signature.items()}
        # Of the function itself every annotation would be looked up, that of the call too, which
        # nobody needs.
        holder = type("Notes", (), {"__annotations__": notes})
        names = getattr(self.function, "__globals__", {})
        return typing.get_type_hints(holder, globalns=names, include_extras=True)

    @cached_property
    def _fields(self) -> dict[str, Any]:
        fields = {name: hint for name, hint in self._hints.items() if name != self.progress}
        fields.update(self.beside)
        if self.takes_key:
            fields[KEY] = _key()
        return fields

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {
            name: part.default
            for name, part in self._signature.items()
            if part.default is not inspect.Parameter.empty
        }

    @cached_property
    def _adapter(self) -> TypeAdapter[dict[str, Any]]:
        from pydantic import ConfigDict, TypeAdapter

        need = frozenset(self.required)
        fields = {
            name: (typing_extensions.Required if name in need else typing_extensions.NotRequired)[
                hint
            ]
            for name, hint in self._fields.items()
        }
        # A TypedDict, for a field may then have any name and only what was given comes back.
        build = cast("Callable[[str, dict[str, Any]], Any]", typing_extensions.TypedDict)
        typed = build("Arguments", fields)
        typed.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
        return TypeAdapter(typed)

    def _is_shown(self, name: str) -> bool:
        return name not in self.hidden

    def _check_declaration(self) -> None:
        name = getattr(self.function, "__name__", "?")
        for part in self._signature.values():
            if part.kind in {part.VAR_POSITIONAL, part.VAR_KEYWORD, part.POSITIONAL_ONLY}:
                raise TypeError(f"{name}: {part.name} must be a parameter with a name of its own")
            if part.annotation is inspect.Parameter.empty:
                raise TypeError(f"{name}: {part.name} has no annotation")
        if KEY in self._signature:
            raise TypeError(f"{name}: a tool that writes takes {KEY} by itself")
        taken = self._signature.keys() | self.beside.keys()
        for missing in {*self.aliases.values(), *self.hidden} - taken:
            raise TypeError(f"{name}: there is no parameter {missing}")
        for twice in self.aliases.keys() & taken:
            raise TypeError(f"{name}: the alias {twice} is a parameter already")


@cache
def _key() -> Any:
    """Return the annotation of the idempotency key that every tool that writes takes."""
    # The whole library is imported where the first schema is built: commands of people build none.
    from pydantic import Field, WithJsonSchema

    return Annotated[
        str,
        Field(min_length=1, max_length=KEY_LENGTH, description="Retry key"),
        # Shown on every tool that writes: the lengths are checked, but not worth their bytes there.
        WithJsonSchema({"type": "string"}),
    ]


def _fields_at(hint: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """Return the fields of the objects that an annotation admits at a place, each with its annotation."""
    hints = [hint]
    for step in path:
        hints = [below for annotation in hints for below in _below(annotation, step)]
    return {
        name: inner
        for annotation in hints
        for branch in _branches(annotation)
        for name, inner in _fields(branch).items()
    }


def _below(hint: Any, step: str | int) -> Iterator[Any]:
    """Return the annotations of what an annotation admits one step down."""
    for branch in _branches(hint):
        fields, inner = _fields(branch), typing.get_args(branch)
        if isinstance(step, str) and step in fields:
            yield fields[step]
        elif inner:
            # What a list holds stands first, what an object of any names does behind these.
            yield inner[0 if isinstance(step, int) else -1]


def _branches(hint: Any) -> Iterator[Any]:
    """Return what an annotation is one of, without what stands around it."""
    origin = typing.get_origin(hint)
    if origin in {Annotated, typing_extensions.NotRequired, typing_extensions.Required}:
        yield from _branches(typing.get_args(hint)[0])
    elif origin in {typing.Union, UnionType}:
        for argument in typing.get_args(hint):
            yield from _branches(argument)
    else:
        yield hint


def _fields(hint: Any) -> dict[str, Any]:
    if typing_extensions.is_typeddict(hint):
        return typing.get_type_hints(hint, include_extras=True)
    return {}


def _description(hint: Any) -> str:
    descriptions = (
        getattr(mark, "description", None) for mark in getattr(hint, "__metadata__", ())
    )
    return next((text for text in descriptions if text), "")
