"""``python -m onefit``: the command line."""

from onefit.cli import main

if __name__ == "__main__":
    main()
