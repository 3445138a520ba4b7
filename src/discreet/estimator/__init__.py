"""The estimator of a private fit: a function of released numbers and public facts (docs/estimator.md)."""
