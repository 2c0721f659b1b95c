"""Judgments about plans and sittings: how far they are, and what happened in them."""
