"""Verbs that search the web and fetch pages of it."""
