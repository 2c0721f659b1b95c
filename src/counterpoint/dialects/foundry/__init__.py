"""The foundry dialect: specs of phases and tasks, kept in step with files."""
