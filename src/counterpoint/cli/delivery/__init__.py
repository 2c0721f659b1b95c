"""Commands for what agents hand over, and for what they find again."""
