"""How an unattended run goes on, without input or output."""
