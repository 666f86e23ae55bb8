"""Attention without its matrix of scores."""
