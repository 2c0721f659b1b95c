"""What the answers of models come to in research."""
