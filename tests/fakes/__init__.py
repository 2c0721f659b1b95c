"""Stand-ins for what the core asks of outside, each an honest implementation of its port."""
