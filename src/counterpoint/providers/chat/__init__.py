"""Chat with models: formats of their providers, and programs."""
