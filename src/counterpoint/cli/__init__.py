"""The command line: arguments to the core and back to words and exit codes."""
