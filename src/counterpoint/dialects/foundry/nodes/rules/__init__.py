"""What the nodes of a spec may hold, without input or output."""
