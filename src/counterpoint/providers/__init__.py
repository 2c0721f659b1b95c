"""Adapters that ask models: formats of providers, and keys for them."""
