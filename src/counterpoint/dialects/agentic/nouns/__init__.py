"""What only agentic asks and answers."""
