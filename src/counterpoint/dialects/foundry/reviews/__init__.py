"""Reviews by models, of plans, specs and work."""
