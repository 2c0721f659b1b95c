"""How many pools of memory the threads of a process have, and what becomes of large parts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterpoint.kernel.starting.garbage import share_heap

PROGRAM = r"""
import ctypes, os, re, sys, threading
from counterpoint.kernel.starting.garbage import settle, share_heap

settle()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(16 << 20))
libc.malloc(8 << 20)
together = threading.Barrier(4)

def take():
    together.wait()
    for _ in range(2_000):
        libc.malloc(100)

threads = [threading.Thread(target=take) for _ in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
read, write = os.pipe()
libc.fdopen.restype, libc.fdopen.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
stream = libc.fdopen(write, b"w")
libc.malloc_info(0, stream)
libc.fclose(stream)
said = os.fdopen(read).read()
apart = re.search(r'type="mmap" count="\d+" size="(\d+)"', said)
print(said.count("<heap nr="), share_heap(), int(apart[1]) >= 8 << 20)
"""


def pools(**variables: str) -> list[str]:
    """Answer how many pools a server's process has after four threads took memory, whether it may say so, and whether what is large is apart."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, check=True
    )
    return told.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has pools for threads")
def test_threads_of_a_server_share_one_pool_of_memory() -> None:
    """What one thread gave back another takes, and what is large the system, each time; whoever sets the number of pools keeps it."""
    assert pools() == ["1", "True", "True"]
    many, is_said, is_apart = pools(MALLOC_ARENA_MAX="8")
    assert int(many) > 1
    assert (is_said, is_apart) == ("False", "False")


def test_whoever_starts_a_process_decides_about_its_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the variables say stays; without them one pool is asked for, where there is glibc."""
    for name in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    assert share_heap() is (sys.platform == "linux")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=4")
    assert share_heap() is False
