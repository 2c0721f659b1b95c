"""What only foundry does with work, on the one write path."""
