"""The symphony dialect: issues, phases, pull requests and the agents that work on them."""
