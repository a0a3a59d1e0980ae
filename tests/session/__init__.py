"""Tests of the growing conversation."""
