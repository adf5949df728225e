"""``dselements record`` and ``dselements export``."""
