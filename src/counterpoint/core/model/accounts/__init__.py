"""What is kept so that every call and every strict move can be accounted for."""
