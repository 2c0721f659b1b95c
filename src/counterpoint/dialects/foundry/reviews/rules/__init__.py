"""What reviewers are asked and how their answers are read, without input or output."""
