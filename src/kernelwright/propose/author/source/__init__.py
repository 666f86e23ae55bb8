"""From a plan and a schedule to source text, one module for each language."""
