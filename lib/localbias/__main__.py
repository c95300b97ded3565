"""``python -m localbias``: the command line without the installed script."""

from localbias.book.cli import app

if __name__ == "__main__":
    app()
