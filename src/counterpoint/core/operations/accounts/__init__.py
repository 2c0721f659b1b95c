"""Verbs that account for calls of tools, for audited sittings, and for strict moves."""
