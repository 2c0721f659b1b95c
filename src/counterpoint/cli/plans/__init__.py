"""Commands about plans and the sessions at work on them."""
