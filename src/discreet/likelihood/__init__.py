"""Sums over people and intervals, and the objectives made of them."""
