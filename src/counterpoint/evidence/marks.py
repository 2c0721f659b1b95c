r"""What stands for the content of one path, and how names are shown.

The mark of a path is, by what lies there without following links: (1) nothing, a folder or
anything that is not a file: the empty text; (2) a link: SHA-256 of its target; (3) a file up to
64 MB: SHA-256 of its bytes; (4) a larger file, or one that cannot be read: SHA-256 of its size and
time of change, with a remark. A path below a link is not in the tree at all and falls under (1).

Names are kept as Python gives them and shown as Unicode: a byte that is no UTF-8 becomes `\xNN`, and
a backslash that only seems to begin such a sign becomes `\x5c`. So no two names are shown alike.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LARGEST = 64 * 1024 * 1024
EMPTY = hashlib.sha256(b"").hexdigest()

_CHUNK = 1 << 20
_SHOWN_BYTE = re.compile(rb"\\x([89a-f][0-9a-f]|5c)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The mark of one path; `remark` says why it is not that of the content."""

    digest: str = ""
    remark: str = ""


def shown(name: str) -> str:
    """Return a file name as valid Unicode."""
    plain = os.fsencode(name)
    if b"\\x" in plain:
        plain = _SHOWN_BYTE.sub(rb"\\x5cx\1", plain)
    return plain.decode("utf-8", "backslashreplace")


def raw(name: str) -> str:
    """Return the name on disk of one that was shown."""
    if "\\x" not in name:
        return name
    return os.fsdecode(
        _SHOWN_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), os.fsencode(name))
    )


def mark(root: Path, name: str) -> Fingerprint:
    """Return the mark of a path below the root."""
    parents = PurePosixPath(name).parents
    # Git does not follow links, and what they lead to may lie outside of the tree.
    if any((root / parent).is_symlink() for parent in parents if parent.name):
        return Fingerprint()
    return mark_at(f"{root}/{name}")


def mark_at(path: str) -> Fingerprint:
    """Return the mark of a path of which it is known that it lies below no link."""
    try:
        state = os.lstat(path)
        if stat.S_ISLNK(state.st_mode):
            return Fingerprint(
                digest=hashlib.sha256(os.fsencode(Path(path).readlink())).hexdigest()
            )
    except (FileNotFoundError, NotADirectoryError):
        return Fingerprint()
    except OSError as fault:
        return Fingerprint(digest=EMPTY, remark=f"cannot be seen ({fault.strerror})")
    return _of_file(path, state) if stat.S_ISREG(state.st_mode) else Fingerprint()


def _of_file(path: str, state: os.stat_result) -> Fingerprint:
    if state.st_size > LARGEST:
        return _outside(state, "is over 64 MB and was compared by size and time only")
    try:
        return Fingerprint(digest=_content(path, state.st_size))
    except FileNotFoundError:
        return Fingerprint()
    except OSError as fault:
        return _outside(state, f"cannot be read ({fault.strerror})")


def _content(path: str, size: int) -> str:
    """Return the digest of a file; knowing its size saves room and a look for its end."""
    state = hashlib.sha256()
    most = min(size + 1, _CHUNK)
    # It was a plain file a moment ago: by now it may be a link or a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        chunk = os.read(descriptor, most)
        while chunk:
            state.update(chunk)
            # A plain file gives less than was asked for only at its end.
            chunk = os.read(descriptor, most) if len(chunk) == most else b""
    finally:
        os.close(descriptor)
    return state.hexdigest()


def _outside(state: os.stat_result, remark: str) -> Fingerprint:
    # Hashed like a content, so that a mark is of one form whatever it stands for.
    text = f"{state.st_size} bytes, changed at {state.st_mtime_ns}"
    return Fingerprint(digest=hashlib.sha256(text.encode()).hexdigest(), remark=remark)
