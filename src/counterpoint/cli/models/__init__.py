"""Commands about models and their providers."""
