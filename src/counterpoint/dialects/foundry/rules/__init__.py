"""What only foundry decides, without input or output."""
