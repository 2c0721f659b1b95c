"""Decisions about independence, succession and signatures."""
