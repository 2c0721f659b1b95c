"""What models are asked in research and how their answers are read, without input or output."""
