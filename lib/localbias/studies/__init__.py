"""Tidy tables, one a study, as the pages show them."""
