"""The verbs for the nodes of specs: looking at them, doing them, and shaping them."""
