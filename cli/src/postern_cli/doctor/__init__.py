"""postern doctor: finds missing, unsafe and slow settings of a server with Postern, and their remedies."""
