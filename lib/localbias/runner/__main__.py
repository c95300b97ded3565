"""``python -m localbias.runner``: the command line without the installed script."""

from localbias.runner.cli import app

if __name__ == "__main__":
    app()
