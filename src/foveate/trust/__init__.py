"""Can the attention of models be trusted? With known relevance measured, without it estimated."""
