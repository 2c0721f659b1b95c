"""Dataclasses, frozen or not, whose methods cost nothing before they are needed.

The standard library compiles six methods for each class, which is half of what a short command takes. Here equality, hash
and text are shared, and the initializer is compiled for a class that has several objects. To `fields`, `replace`, `asdict` and
to classes of `dataclasses` that are drawn from these they are slotted, keyword-only dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from functools import cached_property
from itertools import count
from operator import attrgetter
from typing import Any, Final, Protocol, TypeVar, cast, dataclass_transform

T = TypeVar("T")
_Methods = dict[str, Callable[..., Any]]


@dataclass(init=False, repr=False, eq=False, frozen=True)
class _Still:
    """What `dataclasses` keeps of a class whose objects stay as they were made."""

    one: int


@dataclass(init=False, repr=False, eq=False)
class _Changing:
    """What it keeps of one whose objects change."""


class _Made(Protocol):
    """A class that was made here."""

    __dataclass_fields__: Mapping[str, Any]


_STANDARD: Final[Any] = _Still
_STILL: Final[Any] = _STANDARD.__dataclass_params__
_CHANGING: Final[Any] = cast("Any", _Changing).__dataclass_params__
_KIND: Final[Any] = _STANDARD.__dataclass_fields__["one"]._field_type  # noqa: SLF001 -- `fields` lists only what has it
_FILLED: Final = 3
"""Objects of a class that are made without compiling its initializer, which takes as long as filling thirty."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Return the class with fields for its annotations: immutable, slotted, and made by keywords alone."""
    return _made(cls, _STILL, _methods)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Return the class with fields for its annotations, slotted and made by keywords alone; each object equals only itself."""
    return _made(cls, _CHANGING, lambda _: {"__repr__": _shown})


def _made(cls: type[T], parameters: Any, methods: Callable[[tuple[str, ...]], _Methods]) -> type[T]:
    namespace = dict(cls.__dict__)
    own = _own_fields(cls.__annotations__, namespace)
    all_fields = {
        name: member
        for base in reversed(cls.__mro__[1:])
        for name, member in base.__dict__.get("__dataclass_fields__", {}).items()
    } | own
    for name in (*own, "__dict__", "__weakref__"):
        namespace.pop(name, None)
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    slots = [name for name in own if name not in inherited]
    if any(isinstance(value, cached_property) for value in namespace.values()):
        # Where they keep what they found.
        slots.append("__dict__")
    namespace |= {
        "__slots__": tuple(slots),
        "__match_args__": (),
        "__dataclass_fields__": all_fields,
        "__dataclass_params__": parameters,
    }
    for name, method in methods(tuple(all_fields)).items():
        namespace.setdefault(name, method)
    new_class: Any = type(cls)(cls.__name__, cls.__bases__, namespace)
    new_class.__qualname__ = cls.__qualname__
    new_class.__init__ = _initializer(new_class)
    return new_class


def _own_fields(annotations: Mapping[str, Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a class adds, by their names."""
    fields = dict[str, Any]()
    for name, hint in annotations.items():
        if str(hint).startswith("ClassVar"):
            continue
        default = namespace.get(name, MISSING)
        member: Any = cast("Any", default) if isinstance(default, Field) else field(default=default)
        member.name, member.type, member.kw_only = name, hint, True
        member._field_type = _KIND  # noqa: SLF001 -- `fields` lists only what has it
        fields[name] = member
    return fields


def _methods(names: tuple[str, ...]) -> _Methods:
    """Return what all frozen classes have alike, for fields of these names."""
    values: Callable[[object], object] = attrgetter(*names) if names else type

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def digest(self: object) -> int:
        return hash(values(self))

    def state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def restore(self: object, state_values: list[object]) -> None:
        for name, value in zip(names, state_values, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__eq__": equal,
        "__hash__": digest,
        "__repr__": _shown,
        "__setattr__": _refuse_setting,
        "__delattr__": _refuse_deleting,
        "__getstate__": state,
        "__setstate__": restore,
    }


def _shown(self: _Made) -> str:
    names = (member.name for member in self.__dataclass_fields__.values() if member.repr)
    words = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
    return f"{type(self).__qualname__}({words})"


def _refuse_setting(self: object, name: str, value: object) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:
    del self
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _initializer(cls: Any) -> Callable[..., None]:
    """Return what fills the first objects of a class value by value, and then compiles its initializer, which is it from there on."""
    before = count()

    def first(self: object, *positional: object, **keywords: object) -> None:
        # What does not fit is refused by the compiled one, in the words of Python.
        if next(before) < _FILLED and not positional and _fits(cls, keywords):
            _fill(cls, self, keywords)
        else:
            cls.__init__ = compiled = _compiled(cls)
            compiled(self, *positional, **keywords)

    return first


def _fits(cls: _Made, keywords: Mapping[str, object]) -> bool:
    members = cls.__dataclass_fields__
    return keywords.keys() <= members.keys() and all(
        member.init
        if name in keywords
        else member.default is not MISSING or member.default_factory is not MISSING
        for name, member in members.items()
    )


def _fill(cls: Any, self: object, keywords: Mapping[str, object]) -> None:
    for name, member in cls.__dataclass_fields__.items():
        if name in keywords:
            value = keywords[name]
        elif member.default is not MISSING:
            value = member.default
        else:
            value = member.default_factory()
        object.__setattr__(self, name, value)
    if hasattr(cls, "__post_init__"):
        cls.__post_init__(self)


def _compiled(cls: Any) -> Callable[..., None]:
    """Return the initializer of a class: each value straight into its slot."""
    takes, lines = ["self", "*"], list[str]()
    names: dict[str, Any] = {"_missing": MISSING}
    for name, member in cls.__dataclass_fields__.items():
        names[f"_set_{name}"] = getattr(cls, name).__set__
        source = taken = name
        if member.default is not MISSING:
            names[f"_default_{name}"] = member.default
            taken = f"{name}=_default_{name}"
            source = name if member.init else f"_default_{name}"
        elif member.default_factory is not MISSING:
            names[f"_make_{name}"] = member.default_factory
            taken = f"{name}=_missing"
            source = f"_make_{name}()"
            source += f" if {name} is _missing else {name}" if member.init else ""
        if member.init:
            takes.append(taken)
        lines.append(f" _set_{name}(self, {source})")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    if takes[-1] == "*":
        takes.pop()
    text = "\n".join((f"def __init__({', '.join(takes)}):", *lines, " return None"))
    exec(text, names)  # noqa: S102 -- as `dataclasses` does: the names are those of a class in our source
    compiled = names["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled
