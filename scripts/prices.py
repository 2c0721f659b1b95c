"""Writes what tokens cost into core/rules/models/prices.py, as the package genai-prices (MIT) knows it.

uv run --no-project --with genai-prices python scripts/prices.py

Of a model whose price depends on the size of the question the highest is taken, so that a limit holds.
"""

from __future__ import annotations

import re
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices.data import providers

TARGET = Path(__file__).parents[1] / "src/counterpoint/core/rules/models/prices.py"
OURS = {"anthropic": "claude-", "google": "gemini-", "openai": ""}
OTHERS = re.compile(
    "image|audio|tts|embed|realtime|transcribe|whisper|live|moderation|davinci|dall|sora"
)


def highest(said: Any) -> Decimal | None:
    """Return a price, of several the highest."""
    if said is None or isinstance(said, Decimal):
        return said
    return max([said.base, *(tier.price for tier in said.tiers)])


def lines() -> list[str]:
    """Return a line for each model that answers in text."""
    found: dict[str, str] = {}
    for provider in providers:
        begin = OURS.get(provider.id)
        for model in provider.models if begin is not None else ():
            named = model.id.removesuffix("-latest").removesuffix("-0")
            said = model.prices[-1].prices if isinstance(model.prices, list) else model.prices
            prices = [
                highest(getattr(said, f"{one}_mtok")) for one in ("input", "cache_read", "output")
            ]
            if (
                not named.startswith(begin)
                or OTHERS.search(named)
                or None in (prices[0], prices[2])
            ):
                continue
            told = [int((one if one is not None else prices[0]) * 1_000_000) for one in prices]
            found[named] = f"{named} {' '.join(map(str, told))}"
    return [found[name] for name in sorted(found)]


def main() -> None:
    """Write the module."""
    text = TARGET.read_text(encoding="utf-8")
    head, _, rest = text.partition('_TABLE: Final = """\n')
    tail = rest.partition('"""\n')[2]
    table = "\n".join(lines())
    head = re.sub(r"genai-prices \S+ ", f"genai-prices {version('genai-prices')} ", head)
    TARGET.write_text(f'{head}_TABLE: Final = """\n{table}\n"""\n{tail}', encoding="utf-8")


if __name__ == "__main__":
    main()
