"""Foreign documents during import: read, refused or laid out."""
