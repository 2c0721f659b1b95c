"""Formats of providers that search the web."""
