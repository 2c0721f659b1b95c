"""What is read of the structure in which macOS tells of a process."""

from __future__ import annotations

import struct

from counterpoint.core.model.identity import Process
from counterpoint.evidence.libproc import SIZE, parsed


def told(name: bytes = b"claude", pid: int = 70, device: int = -1) -> bytes:
    """Answer the bytes of a `struct kinfo_proc`."""
    room = bytearray(SIZE)
    struct.pack_into("=qi", room, 0, 1_700_000_000, 5)
    for at, value in ((40, pid), (420, 501), (560, 7), (572, device)):
        struct.pack_into("=i", room, at, value)
    room[243 : 243 + len(name)] = name
    return bytes(room)


def test_a_process_is_read_from_its_structure() -> None:
    """Its name stands for its program where nobody says where that lies."""
    assert parsed(told(), "/opt/claude", 3) == Process(
        pid=70,
        parent=7,
        uid=501,
        session=3,
        has_terminal=False,
        started=1_700_000_000_000_005,
        executable="/opt/claude",
    )
    found = parsed(told(device=4), "", 3)
    assert found is not None
    assert (found.name, found.has_terminal) == ("claude", True)


def test_an_empty_structure_is_no_process() -> None:
    """The kernel answers so for a number that nobody has."""
    assert parsed(told(pid=0), "", 0) is None
