"""Searches and pages of the web."""
