"""`python -m adapter` is the command `scaleproof`."""

from adapter.cli import main

main()
