"""python -m hale."""

from hale.cli import main

main()
