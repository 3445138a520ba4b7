"""Sums over blocks of people: in this process, streamed, on a cluster, or across sites."""
