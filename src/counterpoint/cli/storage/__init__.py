"""The commands about databases themselves."""
