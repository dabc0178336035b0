"""postern doctor: what of a server with Postern is missing, unsafe or slow, and what to do about it."""
