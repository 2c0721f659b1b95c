"""The native dialect: sixteen small verbs for people who come from no other system."""
