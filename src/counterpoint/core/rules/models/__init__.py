"""Judgments about asking models: whom, when again, and at what cost."""
