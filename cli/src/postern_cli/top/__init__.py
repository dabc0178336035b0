"""postern top: the activity of the doors."""
