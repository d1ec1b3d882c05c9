"""``python -m foveate`` is the same as ``foveate``."""

from foveate.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
