"""Research with models, step by step."""
