"""The tool `task`, its actions by what they do."""
