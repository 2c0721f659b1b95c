"""Stints: sessions that are opened, handed over, followed and told again."""
