"""The page, its charts, the runner and the site."""
