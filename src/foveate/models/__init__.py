"""Models: focus f, classifier g, representation φ, and the networks they are made of."""
