"""What runs for agents: their connections, the server of a database, its lists."""
