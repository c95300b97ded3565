"""The measure: arrays in, numbers out. One formula of the papers (or of ours) a file, its maths in the docstring."""
