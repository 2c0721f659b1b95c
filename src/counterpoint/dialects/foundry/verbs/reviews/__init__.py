"""Reviews by models: asked, settled, and written down."""
