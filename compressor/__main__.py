"""`python -m compressor`: the command line."""

from compressor.cli import main

main()
