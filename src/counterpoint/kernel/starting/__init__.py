"""What a process sets for itself first: memory, and modules that wait."""
