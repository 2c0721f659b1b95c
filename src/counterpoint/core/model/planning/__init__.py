"""Plans and sittings as they are asked for and answered."""
