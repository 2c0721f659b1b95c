"""The surfaces that agents see: one thin dialect over the core each."""
