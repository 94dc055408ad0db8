"""The steps of a run: each reads only the files of those before it, and is skipped when nothing changed."""
