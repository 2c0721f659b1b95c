"""A server on this machine that makes vectors, in each of the formats that providers of them speak.

A vector counts words by what they mean here: `password` and `credentials` are one. script: what is answered in turn in place of vectors, if anything.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

MEANT = (
    *({"password", "passwords", "credentials", "secret"}, {"cake", "pastry", "apples"}),
    *({"boat", "ship", "harbour"},),
)
SIZE = 8


def vector(text: str) -> list[float]:
    """Answer what a text means."""
    words = [one.strip(".,") for one in text.lower().split()]
    counts = [float(sum(one in group for one in words)) for group in MEANT]
    return [*counts, 0.1, *[0.0] * (SIZE - len(MEANT) - 1)]


class EmbeddingServer:
    """Use it as a context manager. asked: the path and the body of each request; heads: their heads."""

    def __init__(self, *script: tuple[int, Any]) -> None:
        """Listen on a free port."""
        self.script = list(script)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.heads: list[dict[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door(self))
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def texts(self) -> list[str]:
        """Every text that it was sent, in order."""
        return [text for path, body in self.asked for text in _texts(path, body)]

    def configure(self, folder: Path, kind: str = "embeddings", more: str = "") -> None:
        """Have a project find by its vectors; a person has to trust that."""
        (folder / "counterpoint.toml").write_text(
            f'[models.providers.near]\nkind = "chat"\naddress = "{self.address}"\n'
            f'[models.embedding]\nprovider = "near"\nmodel = "vec-1"\nkind = "{kind}"\n{more}'
        )

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


def _texts(path: str, body: dict[str, Any]) -> list[str]:
    if path.endswith(":batchEmbedContents"):
        return [one["content"]["parts"][0]["text"] for one in body["requests"]]
    return body["input"]


def _answer(path: str, body: dict[str, Any]) -> Any:
    """Answer as the published description of the format has it."""
    found = [vector(text) for text in _texts(path, body)]
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": one} for one in found]}
    if path == "/api/embed":
        return {"model": body["model"], "embeddings": found, "prompt_eval_count": 7}
    assert path == "/embeddings"
    rows = [
        {"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(found)
    ]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return {"object": "list", "data": rows[::-1], "model": body["model"], "usage": usage}


def _door(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        """One request, one answer."""

        def do_POST(self) -> None:
            """Answer vectors, or what the script says."""
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            server.asked.append((self.path, body))
            server.heads.append({name.lower(): value for name, value in self.headers.items()})
            status, told = server.script.pop(0) if server.script else (200, None)
            said = json.dumps(_answer(self.path, body) if told is None else told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002  the name is theirs
            """Say nothing."""

    return Door
