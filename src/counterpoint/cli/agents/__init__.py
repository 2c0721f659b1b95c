"""What a person says of agents: their roles, and what their learnings are worth."""
