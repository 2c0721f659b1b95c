"""What a test asks of a whole chain of thoughts at once."""

from __future__ import annotations

from collections.abc import Iterable

from counterpoint.core.ledger.thoughts import Chains, Link


def verify_chains(links: Iterable[Link], *, gaps: bool = False) -> int:
    """Count the links of sound chains, in their order; ChainBroken with the first fault."""
    chains, count = Chains(gaps=gaps), 0
    for link in links:
        for fault in chains.follow(link, link.leaf.hex()):
            raise fault
        count += 1
    return count
