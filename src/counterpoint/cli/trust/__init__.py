"""What people do about keys, agents and witnesses."""
