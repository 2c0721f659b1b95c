"""The text of a PDF, page by page, read in a process of its own that has limits.

Whoever wrote the file may have meant to harm its reader: so it is read by another process, which has a gigabyte, twenty seconds of a
processor, no variable of ours and no file to write, and whose answer has a limit as well. The library (the extra
`documents`) is imported there and nowhere else.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import threading
from io import BytesIO
from itertools import islice
from typing import Any, Final

LIBRARY: Final = "pypdf"
PAGES: Final = 2_000
"""Pages that are read; a longer file is refused."""
LETTERS: Final = 5_000_000
"""Letters that all pages together may have."""
_SECONDS: Final = 20
_PATIENCE: Final = 30.0
_MEMORY: Final = 1 << 30
_TURN: Final = threading.BoundedSemaphore(2)
"""Two are read at once: each may take a gigabyte, and strangers send as many as they like."""
_TOO_LONG: Final = 4
_LOCKED: Final = 5
_SAID: Final = {
    _TOO_LONG: f"has more than {PAGES:,} pages or {LETTERS:,} letters",
    _LOCKED: "is encrypted",
}


def read(content: bytes) -> list[str]:
    """Return the text of each page; InvalidInput if it cannot be read, Unavailable without the library."""
    if importlib.util.find_spec(LIBRARY) is None:
        # Imported here, for the process that reads has nothing of ours.
        from counterpoint.kernel.errors import Unavailable

        raise Unavailable(
            f"PDF files are read by {LIBRARY}, which is not installed",
            hint="Install `counterpoint[documents]`, or give the document as text.",
        )
    command = [sys.executable, "-I", "-B", __file__]
    try:
        with _TURN:
            ran = subprocess.run(  # noqa: S603 -- this very file, and the content comes by a pipe
                command, input=content, capture_output=True, timeout=_PATIENCE, env={}, check=False
            )
    except subprocess.TimeoutExpired:
        raise _refusal(f"takes longer to read than {_PATIENCE:.0f} seconds") from None
    if ran.returncode:
        raise _refusal(_SAID.get(ran.returncode, "is damaged, or made to take too much"))
    pages: list[str] = json.loads(ran.stdout)
    return pages


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
    room = LETTERS
    for page in islice(reader.pages, PAGES + 1):
        pages.append(page.extract_text())
        room -= len(pages[-1])
        if room < 0 or len(pages) > PAGES:
            return _TOO_LONG
    sys.stdout.write(json.dumps(pages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
