"""What only foundry asks and answers."""
