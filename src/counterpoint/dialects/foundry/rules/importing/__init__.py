"""Documents of others on their way in: read, refused or laid out."""
