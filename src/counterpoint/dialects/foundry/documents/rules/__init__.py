"""How documents are mended and compared, without input or output."""
