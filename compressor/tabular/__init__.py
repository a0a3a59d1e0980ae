"""Arrow tables and the files that hold them: conversations in a column, read and written in parts."""
