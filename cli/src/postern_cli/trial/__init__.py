"""postern try: an application's own statements at both ports."""
