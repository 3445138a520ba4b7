"""`python -m discreet.cli` is the command `discreet`."""

from discreet.cli import main

main()
