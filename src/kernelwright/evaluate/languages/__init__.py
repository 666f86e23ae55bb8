"""The languages of candidates: how each is built. A folder a language, a row of `table.py` each."""
