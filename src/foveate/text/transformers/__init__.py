"""Models of the transformers library: attention recorded and set through its own interface."""
