"""The symphony dialect: issues, phases, pull requests and who works on them."""
