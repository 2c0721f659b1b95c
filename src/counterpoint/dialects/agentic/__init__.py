"""The agentic dialect: plans that survive sessions, for fleets of agents."""
