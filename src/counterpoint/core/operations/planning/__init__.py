"""Plans that survive sessions: their phases, their tasks, and their end."""
