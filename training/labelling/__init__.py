"""Raw transcripts to labelled ones: by a teacher model, from pairs of texts, from edits by hand, from the shipped model.

`cli.py` is the command; `records.py` says what goes in and out; `alignment.py` places a shorter text in its source.
"""
