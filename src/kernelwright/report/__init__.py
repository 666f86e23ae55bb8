"""Reads the store and writes what people look at: terminal tables and one HTML file."""
