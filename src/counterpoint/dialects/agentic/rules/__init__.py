"""What only agentic decides, without input or output."""
