"""`python -m discreet` is the command `discreet`."""

from discreet.cli import main

main()
