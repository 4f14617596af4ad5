"""Measures of what memrepo does, on data that comes from outside. Each is a function that returns rows."""
