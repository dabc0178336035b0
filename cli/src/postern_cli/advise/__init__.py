"""postern advise: which statements of a server are key-value shaped, and which door would serve them."""
