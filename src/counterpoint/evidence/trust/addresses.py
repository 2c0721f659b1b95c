"""Whether an address of the network is one of this machine."""

from __future__ import annotations

import socket


def is_own_address(host: str) -> bool:
    """Return whether a caller from an address is on this machine: the kernel binds to no other."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind((host, 0))
        except OSError:
            return False
    return True
