"""Stints: sessions that are opened, handed over, taken up, followed and told again."""
