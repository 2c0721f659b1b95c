"""The native dialect: sixteen small verbs, for those who know no other."""
