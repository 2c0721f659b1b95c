"""What logs and their witnesses say to each other, as C2SP writes it down."""
