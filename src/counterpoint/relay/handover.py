"""Hands a running relay over to the program that was installed in place of its own.

Some clients never start a server again within a session, so a relay has to outlive an upgrade: it replaces itself by `exec`, as the
same process with the same pipes. The client notices nothing, and whoever attests it by number and start of its process neither.

1. It is done only when the program on disk has changed, and before a server is looked for. So no server is connected, what
was under way has been answered, and of what waits and of what the client has yet to read nothing is lost.
2. The new program is tried first, with the very state (`--try-state FD`): it must say that it takes this form of state, and be of
another version. If it does not, as one that is older or cannot be loaded, the relay goes on as it was.
3. The state is one JSON object in a file in memory, or one without a name, whose descriptor is inherited (`--take-state FD`):
nothing of it stands among arguments or variables. Bytes are written as Latin-1.
4. These descriptors keep their numbers: input and output, the lock of the connection's secret, the client's process.
5. All that this needs is loaded with the relay: what lies on disk then is of another version.
"""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import suppress

import counterpoint
from counterpoint import __version__
from counterpoint.kernel.places import state_folder
from counterpoint.kernel.starting.programs import own_command
from counterpoint.relay.answers import is_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    Json = dict[str, Any]

FORM: Final = 1
"""The form of the state; a program that has another one takes none of this."""
TAKE: Final = "--take-state"
TRY: Final = "--try-state"
PATIENCE: Final = 20.0
"""Seconds in which a new program must say that it takes the state."""
_TRIED: Final = 3
"""The descriptor of the state in a program that is tried."""
_CHUNK: Final = 65536


def find_mark() -> tuple[int, int, int] | None:
    """Return what tells the program on disk from another one that takes its place; None while there is none."""
    try:
        file = os.stat(counterpoint.__file__ or "")
    except OSError:
        return None
    return file.st_ino, file.st_size, file.st_mtime_ns


def split_words(words: Sequence[str]) -> tuple[list[str], str, int]:
    """Return the words of a call without the two of a handover, the first of these, and its descriptor; -1 without them."""
    if len(words) > 1 and words[-2] in {TAKE, TRY} and words[-1].isdecimal():
        return [*words[:-2]], words[-2], int(words[-1])
    return [*words], "", -1


def read_state(descriptor: int) -> Json | None:
    """Return the state that was handed over, and close its file; None for anything else."""
    try:
        text = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        os.close(descriptor)
        state: object = json.loads(text)
    except (OSError, ValueError):
        return None
    return state if is_object(state) and state.get("form") == FORM else None


def write_state(state: Json) -> int:
    """Return the descriptor of a file that only this process has, with a state in it; OSError."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("counterpoint")
    else:
        folder = state_folder(os.environ)
        os.makedirs(folder, 0o700, exist_ok=True)
        path = f"{folder}/{os.urandom(16).hex()}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        os.unlink(path)
    try:
        text = json.dumps({**state, "form": FORM}).encode()
        while text:
            text = text[os.write(descriptor, text) :]
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def try_program(words: Sequence[str], descriptor: int) -> str:
    """Return the version of the program on disk if it takes a state; empty if it does not."""
    reader, writer = os.pipe()
    command = own_command("mcp", *words, TRY, str(_TRIED))
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writer, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, descriptor, _TRIED),
    ]
    try:
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=streams)
    except OSError:
        os.close(reader)
        return ""
    finally:
        os.close(writer)
    answer = b""
    while select.select([reader], [], [], PATIENCE)[0] and (chunk := os.read(reader, _CHUNK)):
        answer += chunk
    os.close(reader)
    # It has said what it has to say, or says nothing.
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        state: object = json.loads(answer)
    except ValueError:
        return ""
    return str(state.get("version")) if is_object(state) and state.get("form") == FORM else ""


def tell_form() -> None:
    """Say, as the program that is tried, that it takes the state."""
    print(json.dumps({"form": FORM, "version": __version__}))  # noqa: T201 - what the relay reads that tries it


def replace_program(words: Sequence[str], descriptor: int, descriptors: Iterable[int]) -> None:
    """Become the program on disk, which takes the state and these descriptors over; return only if that cannot be started."""
    handed = [number for number in (descriptor, *descriptors) if number >= 0]
    command = own_command("mcp", *words, TAKE, str(descriptor))
    for number in handed:
        os.set_inheritable(number, True)
    with suppress(OSError):
        os.execve(command[0], command, os.environ)  # noqa: S606 - this program itself, as it starts its server
    keep_descriptors(handed)


def keep_descriptors(descriptors: Iterable[int]) -> None:
    """Let no process that is started from here inherit descriptors."""
    for number in descriptors:
        if number >= 0:
            os.set_inheritable(number, False)
