"""Tools, schemas and servers over the official MCP SDK; knows no domain."""
