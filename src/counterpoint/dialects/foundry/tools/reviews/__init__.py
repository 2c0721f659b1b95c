"""The tool that has specs, plans and work reviewed."""
