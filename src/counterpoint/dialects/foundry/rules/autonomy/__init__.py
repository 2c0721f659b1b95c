"""What unattended runs decide, without input or output."""
