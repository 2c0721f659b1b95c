"""The write path, and what every verb on it shares: the context, links, moves."""
