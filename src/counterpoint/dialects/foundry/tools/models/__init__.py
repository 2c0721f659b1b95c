"""Tools that ask models, and those that tell who can be asked."""
