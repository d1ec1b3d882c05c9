"""Bags of segments: the containers that models, training and metrics share."""
