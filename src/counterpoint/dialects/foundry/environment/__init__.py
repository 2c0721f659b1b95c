"""What the machine, the configuration and past errors tell."""
