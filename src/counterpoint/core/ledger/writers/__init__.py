"""What writers sign of what they wrote, and how that is checked."""
