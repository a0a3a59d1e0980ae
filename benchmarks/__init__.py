"""Measurements that are no tests: speed, memory, the cost of the masks. Each prints a table for the documentation."""
