"""Lists of tools that were answered once, kept as bytes for who asks again.

Rules: (1) An answer is kept only for a question that has nothing but what stands in its key: the surface, what the caller may use, the headers
that the protocol looks at, and the parameters. (2) For a long question nothing is kept, and of answers the `MOST` newest: who asks for another
is answered as the first one was. (3) Between two of them only the id differs, which is put in.

A list is the largest of all answers, and its making held up everybody who called at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response

from counterpoint.protocol.http.grants import Grant

MOST: Final = 64
LONGEST: Final = 2_000
_LOOKED_AT: Final = ("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name")

Key = tuple[object, ...]


class KeptLists:
    """What was answered to `tools/list`."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: dict[Key, bytes] = {}

    def key(
        self, surface: str, grant: Grant, headers: Headers, message: Mapping[str, Any]
    ) -> Key | None:
        """Return what the answer to a message depends on; None for one whose answer is not kept."""
        if message.get("method") != "tools/list" or "id" not in message:
            return None
        question = orjson.dumps([message[name] for name in sorted(message) if name != "id"])
        looked = tuple(headers.get(name, "") for name in _LOOKED_AT)
        if len(question) + sum(map(len, looked)) > LONGEST:
            return None
        return surface, grant.scopes, grant.tools, looked, tuple(sorted(message)), question

    def find(self, key: Key, number: object) -> Response | None:
        """Return the answer to a question with this id, if one like it was answered."""
        answer = self._kept.get(key)
        if answer is None:
            return None
        body = b'{"jsonrpc":"2.0","id":' + orjson.dumps(number) + b',"result":' + answer + b"}"
        return Response(body, media_type="application/json")

    def keep(self, key: Key, body: bytes) -> None:
        """Keep the result of an answer, if it has one."""
        answer = orjson.loads(body)
        if "result" not in answer:
            return
        self._kept[key] = orjson.dumps(answer["result"])
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
