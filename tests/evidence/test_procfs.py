"""What is mounted over files of /proc is not believed, with openat2 and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.evidence import procfs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")
_READS = """
import os, sys
from counterpoint.evidence import procfs
procfs._OPENAT2 = int(sys.argv[1])
looks = {
    "stat": lambda: procfs.read(f"{os.getpid()}/stat"),
    "cmdline": lambda: procfs.read(f"{os.getpid()}/cmdline"),
    "environ": lambda: procfs.read(f"{os.getpid()}/environ"),
    "status": lambda: procfs.read(f"{os.getpid()}/status"),
    "uid_map": lambda: procfs.read(f"{os.getpid()}/uid_map"),
    "mountinfo": lambda: procfs.read(f"{os.getpid()}/mountinfo"),
    "exe": lambda: procfs.read_link(f"{os.getpid()}/exe"),
    "user": lambda: procfs.read_link(f"{os.getpid()}/ns/user"),
    "owner": lambda: procfs.read_owner(str(os.getpid())),
    "boot_id": lambda: procfs.read("sys/kernel/random/boot_id"),
}
for name in sys.argv[2:]:
    try:
        looks[name]()
        print("read", end=" ")
    except procfs.Covered:
        print("covered", end=" ")
"""
NUMBERS = {"with openat2": 437, "without": 100_000}
"""The number of the call; there is none of the other number, as on a kernel before Linux 5.6."""
COVERED = {
    "stat": "cat /proc/1/stat >s; mount --bind s /proc/$$/stat",
    "cmdline": "mount --bind /proc/1/cmdline /proc/$$/cmdline",
    "environ": "echo >e; mount --bind e /proc/$$/environ",
    "status": "mount --bind /proc/1/status /proc/$$/status",
    "uid_map": "mount --bind /proc/1/uid_map /proc/$$/uid_map",
    "mountinfo": "mount --bind /proc/1/mountinfo /proc/$$/mountinfo",
    "user": "mkdir n; mount --bind n /proc/$$/ns",
    "owner": "mount --bind /proc/1 /proc/$$",
    "boot_id": "cat /proc/sys/kernel/random/uuid >b; mount --bind b /proc/sys/kernel/random/boot_id",
    "stat exe owner boot_id": "mount -t tmpfs none /proc",
}


@pytest.fixture(scope="module", autouse=True)
def _can_mount() -> None:
    if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel lets nobody open a namespace of mounts")


def read_below(mounts: str, number: int, *names: str) -> list[str]:
    """Return `read` or `covered` for each file, read by a process that has mounted something before."""
    script = f'set -e; cd "$(mktemp -d)"; {mounts}; exec "$@"'
    words = (sys.executable, "-c", _READS, str(number), *names)
    ran = subprocess.run(
        [*NAMESPACE, "sh", "-c", script, "sh", *words], check=True, capture_output=True, text=True
    )
    return ran.stdout.split()


@pytest.mark.parametrize("way", NUMBERS)
@pytest.mark.parametrize("names", COVERED)
def test_a_file_that_is_mounted_over_is_covered(names: str, way: str) -> None:
    files = names.split()
    assert read_below(COVERED[names], NUMBERS[way], *files) == ["covered"] * len(files)


@pytest.mark.parametrize("way", NUMBERS)
@pytest.mark.parametrize(
    "mounts",
    [
        # What systemd does for services, and Docker for containers.
        "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys",
        "mount --bind /proc/sys/kernel /proc/sys/kernel",
        "mount -t tmpfs none /proc/acpi 2>/dev/null || mount --bind /dev/null /proc/kcore",
        "mount --bind /dev/null /proc/keys; mount --bind /dev/null /proc/timer_list 2>/dev/null || true",
        "true",
    ],
)
def test_what_services_and_containers_mount_covers_nothing(mounts: str, way: str) -> None:
    names = ("stat", "exe", "user", "owner", "boot_id", "mountinfo")
    assert read_below(mounts, NUMBERS[way], *names) == ["read"] * len(names)


def test_another_part_of_proc_over_a_part_of_it_is_covered() -> None:
    """Of the same device, so that only the list of mounts tells it."""
    mounts = "mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id"
    for number in NUMBERS.values():
        assert read_below(mounts, number, "boot_id", "stat") == ["covered", "read"]


def test_a_file_that_is_not_there_is_missing_and_not_covered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in NUMBERS.values():
        monkeypatch.setattr(procfs, "_OPENAT2", number)
        with pytest.raises(FileNotFoundError):
            procfs.read("4194305/stat")
        assert procfs.read(f"{os.getpid()}/stat").startswith(str(os.getpid()).encode())
        assert procfs.read_link("self") == str(os.getpid())
        assert {str(os.getpid()), "self", "sys"} <= set(procfs.list_names())
        assert str(Path("/proc/self/fd/2").readlink()) in procfs.list_links(f"{os.getpid()}/fd")
