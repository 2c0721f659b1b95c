"""The configuration files of MCP clients: where they are, how to add to them."""
