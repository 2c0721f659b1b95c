"""The workflow dialect: ten calls that record a workflow while it runs."""
