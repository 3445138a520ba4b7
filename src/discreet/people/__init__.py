"""From any table to Episodes: the only place that sees raw values.

Form (columns, types, files) is checked and complained about; values never are.  A fixed rule that
looks at one record at a time repairs them (``repair``), so that no value makes a private fit fail
and no person's record changes what another person contributes.
"""
