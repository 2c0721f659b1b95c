"""What needs no server: answers that never vary, and lines read by hand."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from counterpoint.kernel.tool_scopes import ScopeRefused, read_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeGuard

    Json = dict[str, Any]

LINE_LIMIT: Final = 10_000_000

_ANY: Final = "any"
"""The one type of agents of a dialect that has none."""
_BESIDE: Final = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""Lists of what shows the same as tools do, so that a file which opens some tools shuts it."""
_DISCOVER: Final = "server/discover"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


def is_object(value: object) -> TypeGuard[Json]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a JSON value is a list."""
    return isinstance(value, list)


class Answers:
    """What a surface answers without a server, and which of its tools and their actions only read."""

    def __init__(self, listing: Json) -> None:
        """Take a listing as it ships."""
        self._eras: Json = listing["eras"]
        self._answers: Json = listing["answers"]
        self._reads = frozenset(listing["reads"])
        self._types: dict[str, list[str]] = listing.get("types", {})
        self.is_greeted_by_server = False
        self.handshakes: list[str] = [
            version for version, era in self._eras.items() if "initialize" in self._answers[era]
        ]

    def only_reads(self, params: Json) -> bool:
        """Return whether a call only reads: its tool, or the one action of it that it names."""
        name, arguments = params.get("name"), params.get("arguments")
        if name in self._reads or not isinstance(name, str):
            return name in self._reads
        values = (
            [arguments.get(part) for part in ("action", "command")] if is_object(arguments) else []
        )
        words = [word.lower().replace("_", "-") for word in values if isinstance(word, str)]
        return " ".join((name, *words)) in self._reads

    def narrow(self, agent_type: str, scope: str) -> bool:
        """List only what an agent type and a scope file open; answer whether they open anything.

        Where the server would refuse the file or the type, this lists nothing and answers no.
        """
        # Only one dialect has types of agents: elsewhere every tool is open to everybody, unless a file says which.
        if not self._types and not scope:
            return True
        types = self._types or dict.fromkeys(("", agent_type or _ANY), self._tools())
        role = agent_type if self._types else agent_type or _ANY
        opened = types.get(role)
        if opened is not None and scope:
            try:
                opened = read_scope(os.path.expanduser(scope), types, role)
            except ScopeRefused:
                opened = None
        if opened is None:
            self._answers = {era: {} for era in self._answers}
            return False
        # An agent of a type hears at its beginning what the ledger has for that type.
        self.is_greeted_by_server = bool(self._types and agent_type)
        for answers in self._answers.values():
            listed = answers["tools/list"]
            tools = [tool for tool in listed["tools"] if tool["name"] in opened]
            answers["tools/list"] = listed | {"tools": tools}
            if scope:
                answers.update(
                    {
                        method: answers[method] | {_BESIDE[method]: []}
                        for method in _BESIDE
                        if method in answers
                    }
                )
        return True

    def _tools(self) -> list[str]:
        answers = next(iter(self._answers.values()))
        return [tool["name"] for tool in answers["tools/list"]["tools"]]

    def initialized(self, params: Json) -> Json | None:
        """Return the result of a handshake; None if the server must judge it."""
        requested, client = params.get("protocolVersion"), params.get("clientInfo")
        able = params.get("capabilities")
        if not (isinstance(requested, str) and is_object(client) and is_object(able)):
            return None
        if not all(isinstance(client.get(name), str) for name in ("name", "version")):
            return None
        # The SDK would refuse it: then its words are the right ones, and not an answer from here.
        if not all(is_object(capability) for capability in able.values()):
            return None
        # As the protocol has it: a server that does not know the version answers with its newest
        # one.
        version = requested if requested in self.handshakes else self.handshakes[-1]
        result: Json = self._answers[self._eras[version]]["initialize"]
        return result | {"protocolVersion": version}

    def answer(self, version: str, method: str) -> Json | None:
        """Return the result of a method that never varies; None if the server must answer."""
        if self.is_greeted_by_server and method == _DISCOVER:
            return None
        era = self._eras.get(version)
        result: Json | None = self._answers[era].get(method) if era else None
        return result

    def beginning(self, method: str, params: Json) -> Json | None:
        """Return the result of a request that begins a connection, where the server cannot be asked; None for others."""
        if method == "initialize":
            return self.initialized(params)
        era = self._eras.get(envelope_version(params) or "") if method == _DISCOVER else None
        result: Json | None = self._answers[era].get(method) if era else None
        return result


def envelope_version(params: Json) -> str | None:
    """Return the version that a request carries; empty if none; None if the server must judge it."""
    meta = params.get("_meta", {})
    if not is_object(meta) or not params.keys() <= {"_meta"}:
        return None
    version = meta.get(_VERSION, "")
    if version and not is_object(meta.get(_CAPABILITIES)):
        return None
    return version if isinstance(version, str) else None


def offers_roots(params: Json) -> bool:
    """Return whether the envelope of a request says that its client has roots."""
    meta = params.get("_meta")
    capabilities = meta.get(_CAPABILITIES) if is_object(meta) else None
    return is_object(capabilities) and is_object(capabilities.get("roots"))


class Lines:
    """Cuts what comes in into lines; one that is too long is None."""

    def __init__(self) -> None:
        """Begin with an empty line."""
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def half(self) -> tuple[bytes, int]:
        """Return what has come of a line that has not ended, nothing of one that is too long, and its size."""
        return b"".join(self._parts), self._size

    def resume(self, part: bytes, size: int) -> None:
        """Begin with what had come of a line."""
        self._parts, self._size = [part] if part else [], size

    def take(self, chunk: bytes) -> list[bytes | None]:
        """Return the lines that a chunk ends."""
        first, *others = chunk.split(b"\n")
        lines: list[bytes | None] = []
        self._grow(first)
        for other in others:
            lines.append(None if self._size > LINE_LIMIT else b"".join(self._parts))
            self._parts, self._size = [], 0
            self._grow(other)
        return lines

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LINE_LIMIT:
            self._parts.append(part)
        else:
            self._parts = []


def answered(line: bytes) -> object:
    """Return the id of the request that a server's line answers; None if it answers none."""
    # Nearly every line: found without parsing an answer that may be a megabyte long.
    if line.startswith(b'{"jsonrpc":"2.0","id":'):
        # The server writes answers so; what is long need not be read to know which it is.
        end = line.find(b',"result":' if b',"result":' in line[:400] else b',"error":', 22)
        with suppress(ValueError):
            return json.loads(line[22:end])
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if not is_object(message) or "method" in message:
        return None
    return message.get("id")
