"""Fetches pages of the web from addresses that were checked."""
