"""Studies of the blog post: the two-token classifier."""
