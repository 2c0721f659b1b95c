"""Those who keep heads elsewhere: the repository, and witnesses that cosign."""
