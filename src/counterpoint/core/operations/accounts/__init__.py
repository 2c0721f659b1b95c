"""Verbs that account for calls, for audited sittings, and for strict moves."""
