"""Privacy bugs of who is a person and of passes that lose or double somebody."""

from discreet.engine import engine, local, stream
from discreet.people import columns, encode, files, identity
from tests.mechanisms.bugs import Bug
from tests.people import identity_checks as checks

IDENTITY_BUGS = [
    Bug(
        "integer ids become doubles where one is missing",
        columns,
        "make_column",
        "NumberColumn(*exact_numpy(native if chunked else series.to_arrow()))",
        "NumberColumn(to_numpy(native if chunked else series.to_arrow()))",
        checks.check_a_row_without_an_id_changes_nobody,
    ),
    Bug(
        "whole doubles are other people than the same integers",
        identity,
        "_of_doubles",
        "kind = np.where(whole, Kind.WHOLE, Kind.DOUBLE)",
        "kind = np.full(len(values), int(Kind.DOUBLE))",
        checks.check_partitions_agree_on_who_is_who,
    ),
    Bug(
        "a blank id is a person",
        identity,
        "_of_texts",
        "compute.ascii_trim_whitespace(_renamed(raw, pa.large_string()))",
        "_renamed(raw, pa.large_string())",
        checks.check_blank_ids_are_nobody,
    ),
    Bug(
        "0.0 and -0.0 are two people",
        identity,
        "_of_doubles",
        "(doubles == np.floor(doubles))",
        "(doubles == np.floor(doubles)) & (doubles != 0)",
        checks.check_signed_zeros_are_one_person,
    ),
    Bug(
        "a database decides by the order of its rows which of a person's counts",
        encode,
        "person_spans",
        "None if table.ordered else partial(_values, table, schema)",
        "None",
        checks.check_other_rows_do_not_order_a_persons,
    ),
    Bug(
        "one person's long field makes a fit fail",
        files,
        "_parse_csv",
        "block_size=block",
        "block_size=1 << 20",
        checks.check_a_long_field_is_read,
    ),
    Bug(
        "a pass does not compare its persons with those counted",
        engine,
        "require_same_people",
        "if list(found) != list(counted):",
        "if False:",
        checks.check_a_pass_notices_other_people,
    ),
    Bug(
        "blocks of a stream cut a person in two",
        stream,
        "last_person",
        "return int(changes[-1]) + 1 if len(changes) else 0",
        "return len(codes)",
        checks.check_nobody_stands_in_two_blocks,
    ),
    Bug(
        "the last block in memory is left out",
        local.LocalEngine,
        "blocks",
        "in pairwise(edges)]",
        "in pairwise(edges[:-1] or edges)]",
        checks.check_everybody_stands_in_a_block,
    ),
]
