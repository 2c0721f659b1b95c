"""The server for callers over the network: MCP by Streamable HTTP, and its guards."""
