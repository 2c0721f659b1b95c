"""How the command `board` reaches the server that shows it, and hands its code to a browser.

The browser gets the code by a private file, in which a form posts it. It stands in no command line, which others of this machine can read, and in no address, which browsers and servers
keep. The file lies in a folder of the account's own, mode 0600; files of codes that have ended are removed by the next one.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, cast

from counterpoint import __version__
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import FOLDERS
from counterpoint.kernel.starting.programs import (
    find_program,
    is_in_tree,
    own_command,
    search_path,
)
from counterpoint.protocol.rendezvous import Rendezvous

_NAME: Final = "board-"
_MODE: Final = 0o600
_START_SECONDS: Final = 30.0
_GLANCE_SECONDS: Final = 0.05
_SENT: Final = ("HOME", *FOLDERS)
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Counterpoint</title>
<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'unsafe-inline'; form-action {address}">
<form method="post" action="{address}/login"><input type="hidden" name="code" value="{code}">
<p>The board of {project}. This page works once, within {seconds} seconds.</p><button>Open the board</button></form>
<script>document.forms[0].submit()</script></html>
"""


def write_page(folder: Path, admitted: Mapping[str, Any], project: str) -> Path:
    """Return a new private file in a folder that logs a browser in; OSError. admitted: what the server answered."""
    seconds = admitted["seconds"]
    for left_page in folder.glob(f"{_NAME}*.html"):
        if time.time() - left_page.lstat().st_mtime > seconds:
            left_page.unlink(missing_ok=True)
    path = folder / f"{_NAME}{token_hex(8)}.html"
    words = {**admitted, "project": project}
    content = _PAGE.format_map({name: escape(str(text)) for name, text in words.items()})
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, _MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
    # What reads pages is loaded by the server, and here by nothing else.
    from counterpoint.board.views.projects import remember_board

    remember_board(os.environ, (str(admitted["address"]), project))
    return path


def open_browser(path: Path, environ: Mapping[str, str]) -> bool:
    """Have the desktop open a file; return whether there was what opens it. Nothing of the tree is started."""
    opener = find_program("open" if sys.platform == "darwin" else "xdg-open")
    has_desktop = sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & environ.keys())
    if opener is None or not has_desktop:
        return False
    variables = {**environ, "PATH": search_path()}
    browser = environ.get("BROWSER", "")
    # What opens files starts the browser that this names, wherever it lies.
    if not Path(browser).is_absolute() or is_in_tree(browser):
        variables.pop("BROWSER", None)
    with subprocess.Popen(  # noqa: S603 -- found outside of the tree
        [opener, str(path)],
        env=variables,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        return process.wait() == 0


def ask_for_board(
    rendezvous: Rendezvous, name: str, flags: Mapping[str, str], folder: str
) -> dict[str, Any] | None:
    """Return where the board is, and a code; None where no server shows one. Unavailable if it is refused.

    name: what whoever asks is called. flags: which ledger is meant, as on the command line. folder: where.
    """
    variables = {
        variable: text
        for variable, text in os.environ.items()
        if variable.startswith("COUNTERPOINT_") or variable in _SENT
    }
    # A label: git is not asked again by the server, which may have another one.
    environ = variables | {"COUNTERPOINT_AGENT": name}
    answer = rendezvous.ask(
        "board", version=__version__, flags=dict(flags), environ=dict(environ), folder=folder
    )
    if answer is not None and not answer["ok"]:
        error = cast("dict[str, str]", answer["error"])
        raise Unavailable(error["message"], hint=error["hint"])
    return answer if answer is not None and "address" in answer else None


def start_board(
    rendezvous: Rendezvous,
    port: int,
    flags: Mapping[str, str],
    ask: Callable[[], dict[str, Any] | None],
) -> dict[str, Any]:
    """Start the server that shows the board, in the place of one that shows none, and ask it; Unavailable.

    port: the usual one; any other where a program has that.
    """
    words = [word for flag, text in flags.items() for word in (f"--{flag}", text)]
    command = own_command("up", "--replace", "--port", str(_free_port(port)), *words)
    log = rendezvous.file("log")
    flags_of_log = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(log, flags_of_log, _MODE), "wb") as file:
        server = subprocess.Popen(  # noqa: S603 -- this program itself
            command,
            # The server is there for all: what one caller was given is none of the others'.
            env={name: text for name, text in os.environ.items() if name != CREDENTIAL},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
    ends = time.monotonic() + _START_SECONDS
    while server.poll() is None and time.monotonic() < ends:
        # The one that leaves answers too, or no more.
        with suppress(Unavailable):
            if admitted := ask():
                return admitted
        time.sleep(_GLANCE_SECONDS)
    raise Unavailable(
        "the server of the board does not start", hint=f"Read {log}; `counterpoint up` says it too."
    )


def _free_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port
