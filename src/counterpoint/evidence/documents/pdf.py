"""The text of a PDF, page by page, read in a process of its own that has limits.

Whoever wrote the file may have meant to harm its reader: so it is read by another process, which has a gigabyte, twenty seconds of a
processor, no variable of ours and no file to write, and whose answer has a limit as well. The library (the extra
`documents`) is imported there and nowhere else. Whoever waits is heard each second, and may go: then that process is ended.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from typing import Any, Final

LIBRARY: Final = "pypdf"
PAGES: Final = 2_000
"""Pages that are read; a longer file is refused."""
LETTERS: Final = 5_000_000
"""Letters that all pages together may have."""
_SECONDS: Final = 20
_TICK: Final = 1.0
_MEMORY: Final = 1 << 30
_TURN: Final = threading.BoundedSemaphore(2)
"""Two are read at once: each may take a gigabyte, and strangers send as many as they like."""
_TOO_LONG: Final = 4
_LOCKED: Final = 5
_SAID: Final = {
    _TOO_LONG: f"has more than {PAGES:,} pages or {LETTERS:,} letters",
    _LOCKED: "is encrypted",
}


def _nobody(_words: str) -> None:
    """Hear nothing."""


def read(content: bytes, watch: Callable[[str], None] | None, seconds: float) -> list[str]:
    """Return the text of each page; InvalidInput if it cannot be read, or not so fast, Unavailable without the library.

    watch: is called each second while it is read, or waits for its turn; what it raises ends the reading. seconds: with the wait for its turn.
    """
    if importlib.util.find_spec(LIBRARY) is None:
        # Imported here, for the process that reads has nothing of ours.
        from counterpoint.kernel.errors import Unavailable
        from counterpoint.kernel.extras import install_hint

        raise Unavailable(
            f"PDF files are read by {LIBRARY}, which is not installed",
            hint=f"{install_hint('documents')} Or give the document as text.",
        )
    waiting = _Waiting(watch or _nobody, seconds)
    with waiting.turn():
        code, printed = waiting.ran(content)
    if code:
        raise _refusal(_SAID.get(code, "is damaged, or made to take too much"))
    pages: list[str] = json.loads(printed)
    if not any(page.strip() for page in pages):
        raise _refusal("has no text: its pages are pictures, or empty")
    return pages


class _Waiting:
    """Somebody who waits for a PDF for so many seconds, and is heard each of them."""

    def __init__(self, watch: Callable[[str], None], seconds: float) -> None:
        self._watch = watch
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @contextmanager
    def turn(self) -> Generator[None]:
        """Have a turn during the block."""
        while not _TURN.acquire(timeout=self._next()):
            self._watch("waiting for other PDFs to be read")
        try:
            yield
        finally:
            _TURN.release()

    def ran(self, content: bytes) -> tuple[int, bytes]:
        """Return the exit code of the process that reads, and what it printed; whoever leaves ends it."""
        with subprocess.Popen(  # noqa: S603 -- this very file, and the content comes by a pipe
            [sys.executable, "-I", "-B", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        ) as process:
            unsent: bytes | None = content
            try:
                while True:
                    try:
                        printed, _ = process.communicate(unsent, timeout=self._next())
                    except subprocess.TimeoutExpired:
                        # What was begun to be given is given on.
                        unsent = None
                        self._watch("reading a PDF")
                    else:
                        return process.returncode, printed
            finally:
                process.kill()

    def _next(self) -> float:
        """Return how long to wait until the next look; InvalidInput once it took too long."""
        seconds_left = self._end - time.monotonic()
        if seconds_left <= 0:
            raise _refusal(f"takes longer to read than {self._seconds:.0f} seconds")
        return min(_TICK, seconds_left)


def _refusal(why: str) -> Exception:
    from counterpoint.kernel.errors import InvalidInput

    return InvalidInput(f"the PDF {why}", hint="Give the document as text, or in parts.")


def main() -> int:
    """Read a PDF from standard input and write its pages as JSON; answer the exit code."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    library: Any = importlib.import_module(LIBRARY)
    reader = library.PdfReader(BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted:
        return _LOCKED
    pages: list[str] = []
    letters_left = LETTERS
    for page in islice(reader.pages, PAGES + 1):
        # Fonts of strangers may say halves of signs, which are no Unicode and could not be kept.
        pages.append(page.extract_text().encode(errors="replace").decode())
        letters_left -= len(pages[-1])
        if letters_left < 0 or len(pages) > PAGES:
            return _TOO_LONG
    sys.stdout.write(json.dumps(pages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
