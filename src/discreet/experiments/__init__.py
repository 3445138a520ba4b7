"""The paper's tables, figures and remarks: config -> run -> results/*.csv -> tables, figures, page.

The paper's preprocessing reads private data and lives here alone. Nothing here is private.
"""
