"""Scripts that the checks run by path in processes of their own; not imported."""
