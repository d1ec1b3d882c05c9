"""Studies beyond the papers: diagnosis, MNIST bags, validation of the trust score, the witness."""
