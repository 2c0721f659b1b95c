"""What only agentic does with work, on the one write path."""
