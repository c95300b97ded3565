"""Batch runs: papermill over the notebooks, Snakemake over the book, the command line."""
