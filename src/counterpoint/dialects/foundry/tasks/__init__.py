"""Tasks of a spec: offered, begun, ended, edited."""
