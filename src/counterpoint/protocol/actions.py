"""One tool made of several actions: `action` says which of them a call is.

Rules: (1) An action is a plain function with parameters, annotations and a key of its own, as a tool is. (2) A call
is checked against its action alone: what only other actions take is refused by name, with those that take it. (3) What
is listed is the union of the open actions: `action`, `command` where one action has several, then every
parameter once, in the widest of its types. The words of `action` say what each does and what it requires, as far as
that is not plain: a client may cut the description of a tool (at 2,048 characters, one of them), but no schema. (4) Names
of actions are compared without regard to case, and `_` is `-`. (5) A tool only reads if all of its open actions do; it
may take something away, or reach outside, if one may.

So whoever asks whether a call reads, or may take long, asks the action that is meant (`Tool.meant`), not the tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Concatenate, Final, TypeVar, cast

from typing_extensions import override

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import refusal
from counterpoint.protocol.faults import MISSING, fault, meant, show
from counterpoint.protocol.parameters import KEY, Parameters
from counterpoint.protocol.schema import Schema, widest
from counterpoint.protocol.tools import Chosen, Tool, tool

C = TypeVar("C")

ACTION: Final = "action"
COMMAND: Final = "command"
_OWN: Final = frozenset({ACTION, COMMAND})
_NAME: Final = 100
"""How much of a name is looked at: the nearest one is found in time that grows with the square of the length."""
_MANY: Final = 3
"""An argument that so many actions take, and most of them require, needs no word beside each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(Tool[C]):
    """One action of a tool; its name is that of the tool, the action and the command together.

    action, command: how it is asked for. plain: its name says what it does. legacy: other names that are accepted, and
    not listed. called: which of them the call has used; empty if none.
    """

    action: str
    command: str = ""
    plain: bool = False
    legacy: tuple[str, ...] = ()
    called: str = ""

    @property
    def spoken(self) -> str:
        """How the action is named without its tool: `start`, or `session start`."""
        return f"{self.action} {self.command}".rstrip()


def action(
    *,
    reads: bool,
    destructive: bool = False,
    idempotent: bool = True,
    open_world: bool = False,
    aliases: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    trees: Collection[str] = (),
    name: str = "",
    command: str = "",
    plain: bool = False,
    legacy: Sequence[str] = (),
) -> Callable[[Callable[Concatenate[C, ...], Json]], Action[C]]:
    """Make an action of a synchronous function, as `tool` makes a tool; TypeError if it cannot be one.

    It has the function's name with `-` for `_`, unless `name` says another. command: tells apart several actions of one
    name. plain: what it does is told by its name, so that the list does not say it again. legacy: names that it had;
    they are accepted, and `within` is told which of them was used.
    """
    make = tool(
        reads=reads,
        destructive=destructive,
        idempotent=idempotent,
        open_world=open_world,
        aliases=aliases,
        hidden=hidden,
        trees=trees,
    )

    def wrap(function: Callable[Concatenate[C, ...], Json]) -> Action[C]:
        built = make(function)
        taken = (_OWN if command else {ACTION}) & built.parameters.own
        if taken:
            raise TypeError(
                f"{function.__name__}: {', '.join(sorted(taken))} says which action it is"
            )
        chosen = name or _normal(built.name)
        return Action(
            name=f"{chosen} {command}".rstrip(),
            description=built.description,
            function=built.function,
            parameters=built.parameters,
            reads=reads,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            action=chosen,
            command=command,
            plain=plain,
            legacy=tuple(map(_normal, legacy)),
        )

    return wrap


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTool(Tool[C]):
    """A tool made of actions; those that are shut are known, and refused."""

    actions: tuple[Action[C], ...]
    shut: tuple[Action[C], ...] = ()
    _named: dict[tuple[str, str], Action[C]] = field(
        init=False, repr=False, compare=False, default_factory=dict[tuple[str, str], "Action[C]"]
    )
    _commands: dict[str, list[str]] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, list[str]]
    )

    def __post_init__(self) -> None:
        """Refuse two actions of one name with ValueError."""
        for action in (*self.actions, *self.shut):
            self._register(action.action, action.command, action)
            for called in action.legacy:
                self._register(called, "", replace(action, called=called))
            if action.command:
                self._commands.setdefault(action.action, []).append(action.command)

    @property
    @override
    def parts(self) -> tuple[Tool[C], ...]:
        return self.actions

    @override
    def meant(self, arguments: Mapping[str, Json]) -> Tool[C] | None:
        action_value, command_value = arguments.get(ACTION), arguments.get(COMMAND)
        if not isinstance(action_value, str):
            return None
        name, command = (
            _normal(action_value),
            _normal(command_value) if isinstance(command_value, str) else "",
        )
        match = self._named.get((name, command))
        # Of an action without commands this one is an argument too many, which `chosen` refuses.
        return match or self._named.get((name, ""))

    @override
    def closes(self, part: Tool[C] | None) -> bool:
        return isinstance(part, Action) and any(part.name == closed.name for closed in self.shut)

    @override
    def chosen(self, arguments: Mapping[str, Json]) -> Chosen[C]:
        meant_part = self.meant(arguments)
        if meant_part is None:
            raise self._unnamed(arguments)
        part = cast("Action[C]", meant_part)
        own = _OWN if part.command and not part.called else {ACTION}
        # A model may fill in every argument of the list: null for those of other actions.
        empty = self.parameters.accepted - part.parameters.accepted
        others = {
            name: value
            for name, value in arguments.items()
            if name not in own and not (value is None and name in empty)
        }

        def elsewhere(name: str) -> str:
            return self._elsewhere(name, part)

        return Chosen(tool=part, arguments=others, elsewhere=elsewhere)

    @override
    def narrowed(self, keep: Callable[[Tool[C]], bool]) -> Tool[C] | None:
        remaining = tuple(action for action in self.actions if keep(action))
        if len(remaining) == len(self.actions):
            return self
        others = tuple(action for action in self.actions if action not in remaining)
        return (
            _make_tool(self.name, self.description, remaining, (*self.shut, *others))
            if remaining
            else None
        )

    def _register(self, name: str, command: str, action: Action[C]) -> None:
        if (name, command) in self._named:
            raise ValueError(f"{self.name}: two actions are named {name} {command}".rstrip())
        self._named[name, command] = action

    def _unnamed(self, arguments: Mapping[str, Json]) -> InvalidInput:
        """Return the refusal of a call that names no action."""
        if ACTION not in arguments:
            return self._unknown(
                ACTION, None, {action.action: action.description for action in self.actions}
            )
        action_value = arguments[ACTION]
        if not isinstance(action_value, str):
            return refusal([fault((ACTION,), f"must be text, not {show(action_value)}")])
        commands = self._commands.get(_normal(action_value))
        if commands is None:
            descriptions = {action.action: action.description for action in self.actions}
            return self._unknown(ACTION, action_value, descriptions)
        command_value = arguments.get(COMMAND)
        if command_value is not None and not isinstance(command_value, str):
            return refusal([fault((COMMAND,), f"must be text, not {show(command_value)}")])
        return self._unknown(COMMAND, command_value, dict.fromkeys(commands, ""))

    def _unknown(
        self, argument: str, value: str | None, descriptions: Mapping[str, str]
    ) -> InvalidInput:
        """Return the refusal of a name that there is not, or of none."""
        allowed: list[Json] = list(descriptions)
        listing = ", ".join(descriptions)
        if value is None:
            return refusal([fault((argument,), f"{MISSING}; one of: {listing}", allowed=allowed)])
        near = meant(_normal(value[:_NAME]), descriptions)
        offer = f"; did you mean {near}?" if near else ""
        facts: dict[str, Json] = {"allowed": allowed, **({"nearest": near} if near else {})}
        return refusal(
            [fault((argument,), f"{show(value)} is not one of: {listing}{offer}", **facts)]
        )

    def _elsewhere(self, name: str, part: Action[C]) -> str:
        """Return what is wrong with an argument that other actions take; empty if none does."""
        takers = [action.spoken for action in self.actions if name in action.parameters.accepted]
        if name == COMMAND:
            takers = [*self._commands, *takers]
        if not takers:
            return ""
        return f"is not taken by {part.spoken}; it is by: {', '.join(takers)}"


def of_actions(
    name: str,
    sentence: str,
    actions: Sequence[Action[C]],
    *,
    beside: Mapping[str, Any] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> ActionTool[C]:
    """Return one tool made of actions, in their order; ValueError if two have one name, or if there is none.

    beside: annotations of what every action takes too; `within` sees it, their functions do not. aliases: other
    spellings of that.
    """
    if not actions:
        raise ValueError(f"{name}: a tool needs an action")
    own = tuple(
        replace(
            action,
            name=f"{name} {action.spoken}",
            parameters=action.parameters.joined(beside or {}, aliases or {}),
        )
        for action in actions
    )
    return _make_tool(name, sentence, own, ())


def _make_tool(
    name: str, sentence: str, actions: tuple[Action[C], ...], shut: tuple[Action[C], ...]
) -> ActionTool[C]:
    return ActionTool(
        name=name,
        description=sentence,
        function=actions[0].function,
        parameters=Union(actions),
        reads=all(action.reads for action in actions),
        destructive=any(action.destructive for action in actions),
        idempotent=all(action.idempotent for action in actions),
        open_world=any(action.open_world for action in actions),
        actions=actions,
        shut=shut,
    )


class Union(Parameters):
    """What the actions of a tool take together: to be listed, and never to check a call by."""

    def __init__(self, actions: Sequence[Action[Any]]) -> None:
        """Keep the actions; nothing of them is worked out before it is asked for."""
        super().__init__(_which, takes_key=any(not action.reads for action in actions))
        self._actions = tuple(actions)
        self.aliases = {
            spelling: meaning
            for action in self._actions
            for spelling, meaning in action.parameters.aliases.items()
        }

    @cached_property
    @override
    def progress(self) -> str | None:
        return next(
            (action.parameters.progress for action in self._actions if action.parameters.progress),
            None,
        )

    @cached_property
    @override
    def names(self) -> tuple[str, ...]:
        return tuple(cast("dict[str, Json]", self.schema["properties"]))

    @cached_property
    @override
    def required(self) -> tuple[str, ...]:
        needed = Counter(name for action in self._actions for name in action.parameters.required)
        by_all = (name for name, count in needed.items() if count == len(self._actions))
        return (ACTION, *by_all)

    @cached_property
    @override
    def accepted(self) -> frozenset[str]:
        taken = frozenset[str]().union(*(action.parameters.accepted for action in self._actions))
        return taken | _OWN

    @cached_property
    @override
    def whole(self) -> dict[str, Json]:
        return self._union(lambda action: action.parameters.whole)

    @cached_property
    @override
    def schema(self) -> dict[str, Json]:
        return self._union(lambda action: action.parameters.schema)

    def _union(self, schema_of: Callable[[Action[Any]], Schema]) -> Schema:
        properties = {**_which_of(self._actions)}
        beside = {name for action in self._actions for name in action.parameters.beside}
        every = _by_name(schema_of(action) for action in self._actions)
        # What has nothing to do with an action comes last.
        for name, parts in sorted(every.items(), key=lambda item: item[0] in beside):
            if name in properties:
                # One action has several under this name, and another takes it as its own: any text may stand there.
                both = [cast("Schema", properties[name]), *parts]
                words = "; or: ".join(str(schema.get("description", "")) for schema in both)
                properties[name] = {"type": "string", "description": words}
            elif name != KEY:
                properties[name] = widest(parts)
        if self.takes_key:
            # Last, and once: in every action that writes it is the same.
            properties[KEY] = {"type": "string", "description": "Retry key"}
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "required": list(self.required),
        }


def describe(actions: Sequence[Action[Any]]) -> str:
    """Return what a model reads of actions: a line for each that is not plain, or requires what others do not."""
    unsaid = _find_implied(actions)
    lines: list[str] = []
    for action in actions:
        needs = [name for name in action.parameters.required if name not in unsaid]
        takes = f"({', '.join(needs)})" if needs else ""
        if not action.plain:
            lines.append(f"{action.spoken}{takes}: {action.description.rstrip('.')}")
        elif takes:
            lines.append(f"{action.spoken}{takes}")
    marked = any("(" in line.partition(":")[0] for line in lines)
    return "\n".join([f"What to do{' (needs)' if marked else ''}", *lines])


def _find_implied(actions: Sequence[Action[Any]]) -> set[str]:
    """Return what goes without saying: what all actions require, or many take and three quarters of them require."""
    taken = Counter(name for action in actions for name in action.parameters.names)
    required = Counter(name for action in actions for name in action.parameters.required)
    return {
        name
        for name, count in required.items()
        if count == len(actions) or (taken[name] >= _MANY and 4 * count >= 3 * taken[name])
    }


def _which_of(actions: Sequence[Action[Any]]) -> dict[str, Json]:
    """Return the properties that say which action is meant."""
    names = dict.fromkeys(action.action for action in actions)
    properties: dict[str, Json] = {
        ACTION: {"type": "string", "enum": list(names), "description": describe(actions)}
    }
    commands = dict.fromkeys(action.command for action in actions if action.command)
    if commands:
        takers = ", ".join(dict.fromkeys(action.action for action in actions if action.command))
        words = f"What of {takers}"
        properties[COMMAND] = {"type": "string", "enum": list(commands), "description": words}
    return properties


def _by_name(schemas: Iterator[Schema]) -> dict[str, list[Schema]]:
    """Return every property of some schemas with all its forms, in the order in which they are met."""
    parts_by_name: dict[str, list[Schema]] = {}
    for schema in schemas:
        for name, part in cast("dict[str, Schema]", schema["properties"]).items():
            parts_by_name.setdefault(name, []).append(part)
    return parts_by_name


def _normal(name: str) -> str:
    """Return a name of an action as it is compared."""
    return name.lower().replace("_", "-")


def _which(_call: object, action: str) -> Json:
    """Return the name of an action: the signature of a tool of actions, which is never called."""
    return action
