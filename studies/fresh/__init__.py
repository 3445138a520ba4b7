"""Registries at random, and real ones never used before: fitted exactly and privately, then compared.

    family    a registry for every (seed, number): people, schema, model
    changing  people whose effects change at known times, with the truth
    real      sets that other packages ship, with schemas from general knowledge
    fits      the exact fit, a private release, and a row of results for both
    report    its part of docs/accuracy.md from results/fresh.csv, failures first
    __main__  `make fresh`: draws, measures, resumes

Nothing here is imported by discreet, and nothing of discreet but its public names is used.
"""
