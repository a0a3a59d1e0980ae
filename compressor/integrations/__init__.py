"""Adapters to other frameworks, one module each: a module imports its framework itself, and nothing imports the module."""
