"""A surface: what one dialect offers over MCP, and how it answers.

A tool call is answered in this order: (1) the tool is looked up (`UnknownTool` leaves the surface,
for it is an error of the protocol), and refused if it is closed here; (2) `around` opens; (3) of a tool
made of actions the one that is named is taken, and the arguments are checked, every fault at once; (4) `within` runs it, or answers in its place; (5)
the answer, which must be a JSON object, is written as text once. A refusal goes through `refuse` into the dialect's own envelope;
anything unforeseen is logged with its traceback and answered without a word about its inside.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.entrances import entered
from counterpoint.kernel.errors import (
    CounterpointError,
    Forbidden,
    NotFound,
    Unexpected,
    UnknownTool,
)
from counterpoint.kernel.lost_calls import lost_call_error
from counterpoint.kernel.visible import dump_visible, escaped, visible
from counterpoint.protocol.arguments import check
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.resources import Prompt, Resource, Said, open_resource
from counterpoint.protocol.tools import Tool

logger = logging.getLogger(__name__)

C = TypeVar("C")

_JSON = "application/json"
"""What a resource is that programs parse."""

Run = Callable[[], Json]

Within = Callable[[C, Tool[C], Mapping[str, Json], str | None, Run], Json]
"""(call, tool or its action, arguments as given under their own names, idempotency key, run) → answer."""

Resolve = Callable[[C, dict[str, Any]], dict[str, Any]]
"""(call, arguments that were checked) → the same with what names in them stand for."""

Around = Callable[[C, Tool[C], Mapping[str, Json], Run], Json]
"""(call, tool, arguments as they came, rest) → answer; sees calls that are not valid too."""


Greet = Callable[[C], str]
"""(call) → what a connection is told at its beginning, as a text; empty: nothing."""

Watch = Callable[[C, int | None, float], tuple[int, list[str]]]
"""(call, position, seconds) → (position, addresses): waits so many seconds for changes behind a
position; answers where to go on and which resources changed, in order. Position None is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened, in the surface's words.

    sequence: the place in the ledger of what it is made from; several may share one.
    subjects: the ids that somebody names who wants to hear of it.
    """

    sequence: int
    name: str
    data: Mapping[str, Json]
    subjects: tuple[str, ...] = ()


Tell = Callable[[C, int | None, int, float], tuple[int, list[Event]]]
"""(call, position, limit, seconds) → (position, events): waits so many seconds for something behind
a position, looks at that many entries at most, and answers where to go on and the events on the way,
in order. All events of one entry come in one answer, and always the same ones. None is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, as far as the protocol knows.

    guarded: whether the surface that is called is refused at once while the store fails. request: the
    HTTP request that carried the message; None on a pipe. conversation: which of its own the client says that the
    message belongs to; empty if it says none.
    """

    guarded: bool = False
    client: str = ""
    client_version: str = ""
    protocol: str = ""
    request: object = None
    conversation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to one call: a JSON object, the same as text, and whether it is a refusal."""

    answer: dict[str, Json]
    text: str
    is_error: bool


Unopened = Callable[[Tool[Any], CounterpointError], Json]
"""(tool, refusal) → answer of a call that cannot be served, though its caller may call; raises the refusal, or answers."""


def silent(done: float, total: float | None = None, message: str = "") -> None:
    """Tell nobody how far a tool is."""


def straight(_call: Any, _tool: Tool[Any], _arguments: Mapping[str, Json], run: Run) -> Json:
    """Run the rest, and nothing around it."""
    return run()


def unkeyed(
    _call: Any, _tool: Tool[Any], _arguments: Mapping[str, Json], _key: str | None, run: Run
) -> Json:
    """Run the tool, whatever key came with the call."""
    return run()


def unresolved(_call: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Take every name in arguments for an id."""
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface(Generic[C]):
    """Everything one dialect offers, in a fixed order.

    guide: what the project's own files tell agents of it, as Markdown; empty: the instructions.
    greet: what a connection is told at its beginning after the instructions; None: nothing more.
    unopened: answers the calls that need no caller, such as one that asks what is wrong.
    guarded: its calls are refused at once while the store they ask fails again and again.
    closed: tools that exist, but not for whom this was built: none is listed, each call is refused.
    """

    name: str
    version: str
    instructions: str
    tools: tuple[Tool[C], ...]
    refuse: Callable[[CounterpointError], Json]
    resources: tuple[Resource[C], ...] = ()
    prompts: tuple[Prompt[C], ...] = ()
    within: Within[C] = unkeyed
    resolve: Resolve[C] = unresolved
    around: Around[C] = straight
    watch: Watch[C] | None = None
    tell: Tell[C] | None = None
    greet: Greet[C] | None = None
    unopened: Unopened | None = None
    guide: str = ""
    guarded: bool = False
    closed: tuple[Tool[C], ...] = ()
    _by_name: dict[str, Tool[C]] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, "Tool[C]"]
    )

    def __post_init__(self) -> None:
        """Refuse two tools of one name with ValueError."""
        for tool in (*self.tools, *self.closed):
            if tool.name in self._by_name:
                raise ValueError(f"two tools are named {tool.name}")
            self._by_name[tool.name] = tool

    def listed(self) -> dict[str, Json]:
        """Return the result of `tools/list`: every tool that is open, in the surface's order."""
        return {"tools": [tool.listed() for tool in self.tools]}

    @property
    def listed_size(self) -> int:
        """How many bytes of compact JSON the list of the tools has: what each agent has to read."""
        return len(orjson.dumps(self.listed()))

    def find(self, name: str) -> Tool[C] | None:
        """Return the tool of a name; None if there is none."""
        return self._by_name.get(name)

    def tool(self, name: str) -> Tool[C]:
        """Return the tool of a name; UnknownTool names the nearest ones."""
        tool = self.find(name)
        if tool is not None:
            return tool
        # Cut, because comparing takes time in proportion to the square of the length.
        near = difflib.get_close_matches(name[:100], self._by_name, n=3)
        offer = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownTool(f"There is no tool {name[:60]!r}{offer}", nearest=near)

    def called_part(self, message: Mapping[str, Any]) -> Tool[C] | None:
        """Return the tool that a message calls, of one made of actions the action; None if it calls none."""
        params = message.get("params")
        name = cast("dict[str, Any]", params).get("name") if isinstance(params, dict) else None
        tool = self.find(name) if isinstance(name, str) else None
        if tool is None or message.get("method") != "tools/call":
            return None
        # Who names no action of a tool is told so by the tool, and changes nothing.
        return tool.meant(_arguments_of(message))

    def lost_error(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON-RPC error of a request that the end of the server overtakes."""
        part = self.called_part(message)
        return lost_call_error(
            only_reads=message.get("method") != "tools/call" or (part is not None and part.reads),
            has_key="idempotency_key" in _arguments_of(message),
        )

    def invoke(
        self,
        call: C,
        name: str,
        arguments: Mapping[str, Json] | None = None,
        progress: Progress = silent,
    ) -> Outcome:
        """Return one tool call; only UnknownTool is raised, all else is an outcome."""
        return self.answer(self.tool(name), lambda: call, arguments or {}, progress)

    def answer(
        self,
        tool: Tool[C],
        call: Callable[[], C],
        arguments: Mapping[str, Json],
        progress: Progress = silent,
    ) -> Outcome:
        """Return a call of a tool by a caller who is still to be made out; raises nothing."""
        try:
            with contained(f"the tool {tool.name}"), entered(f"{self.name} {tool.name}"):
                return self._answered(tool, call, arguments, progress)
        except CounterpointError as refusal:
            return _outcome(self.refuse(refusal), is_error=True)

    def read(self, call: Callable[[], C], uri: str) -> tuple[Resource[C], str]:
        """Return the resource at an address and its text; CounterpointError and no other."""
        with contained("a resource"), entered(f"{self.name} resources/read"):
            resource, variables = open_resource(self.resources, uri)
            text = resource.read(call(), **variables)
            text = escaped(text) if resource.mime == _JSON else visible(text)
            # Half a surrogate would only be found when the answer is written, beyond what contains
            # it.
            text.encode()
            return resource, text

    def has_resource(self, uri: str) -> bool:
        """Return whether an address is that of a resource; it may still lead to nothing."""
        return any(resource.match(uri) is not None for resource in self.resources)

    def speak(
        self, call: Callable[[], C], name: str, arguments: Mapping[str, Json]
    ) -> tuple[Prompt[C], list[Said]]:
        """Return a prompt and its messages; CounterpointError and no other."""
        with contained("a prompt"), entered(f"{self.name} prompts/get"):
            prompt = next((prompt for prompt in self.prompts if prompt.name == name), None)
            if prompt is None:
                raise NotFound(f"There is no prompt {name[:60]!r}", hint="Read `prompts/list`.")
            messages = prompt.speak(call(), arguments)
            # As in `read`: what cannot be written is found here.
            "".join(text for _, text in messages).encode()
            return prompt, [(role, visible(text)) for role, text in messages]

    def _answered(
        self,
        tool: Tool[C],
        call: Callable[[], C],
        arguments: Mapping[str, Json],
        progress: Progress,
    ) -> Outcome:
        try:
            self._refuse_closed(tool, arguments)
            try:
                context = call()
            except CounterpointError as refusal:
                # Who may not call is told so by every tool: nothing is wrong that one could tell of.
                if self.unopened is None or isinstance(refusal, Forbidden):
                    raise
                return _outcome(self.unopened(tool, refusal), is_error=False)
            return _outcome(self._run(tool, context, arguments, progress), is_error=False)
        except CounterpointError as refusal:
            return _outcome(self.refuse(refusal), is_error=True)

    def _refuse_closed(self, tool: Tool[C], arguments: Mapping[str, Json]) -> None:
        part = tool.meant(arguments) or tool
        if tool in self.closed or tool.closes(part):
            raise Forbidden(
                f"{part.name} is out of scope for this connection",
                hint="Call only what `tools/list` shows.",
                tool=tool.name,
            )

    def _run(
        self, tool: Tool[C], call: C, arguments: Mapping[str, Json], progress: Progress
    ) -> Json:
        def rest() -> Json:
            chosen = tool.chosen(arguments)
            part = chosen.tool
            checked = check(part.parameters, chosen.arguments, chosen.elsewhere)
            values = self.resolve(call, dict(checked.values))
            if part.parameters.progress is not None:
                values[part.parameters.progress] = progress
            return self.within(
                call, part, checked.given, checked.key, lambda: part.function(call, **values)
            )

        return self.around(call, tool, arguments, rest)


@contextmanager
def contained(what: str) -> Generator[None]:
    """Let refusals through; log anything else and raise Unexpected, which leaks nothing."""
    try:
        yield
    except CounterpointError:
        raise
    # A library that calls sys.exit must not end a server that others use.
    except (Exception, SystemExit) as fault:
        logger.exception("%s failed", what)
        raise Unexpected from fault


def _outcome(answer: Json, *, is_error: bool) -> Outcome:
    """Write an answer down; TypeError if it is not a JSON object."""
    if not isinstance(answer, dict):
        raise TypeError(f"an answer is a JSON object, not {type(answer).__name__}")
    # What agents wrote must neither steer nor hide from the agents that read it.
    visible_answer, text = dump_visible(cast("Any", answer))
    return Outcome(answer=visible_answer, text=text, is_error=is_error)


def _arguments_of(message: Mapping[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    arguments = (
        cast("dict[str, Any]", params).get("arguments") if isinstance(params, dict) else None
    )
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
