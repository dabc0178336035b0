"""postern top: what the doors are doing."""
