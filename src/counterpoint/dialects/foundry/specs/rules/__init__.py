"""How a spec is judged and mended, without input or output."""
