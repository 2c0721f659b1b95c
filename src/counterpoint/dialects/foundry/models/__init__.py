"""What foundry keeps and answers with."""
