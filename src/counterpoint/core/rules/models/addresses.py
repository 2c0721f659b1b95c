"""Which addresses are this machine's alone."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_here(address: str) -> bool:
    """Return whether an address leads to this machine and nowhere else."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    # Few calls ask about an address that is one of numbers.
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
