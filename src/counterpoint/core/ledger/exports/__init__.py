"""Formats that tools of others verify: in-toto statements, Agent Receipts."""
