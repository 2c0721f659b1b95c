"""Judgments about large trees, which are made and closed in slices."""
