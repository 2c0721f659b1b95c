"""The tool of research, by what it does."""
