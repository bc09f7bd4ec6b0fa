"""Count the facts with DuckDB, one small query a fact, over the relations of overnight/labels/staging.py."""

import duckdb

from overnight.labels.facts import ClassFacts, Found, LabelChange, SnapshotFacts
from overnight.labels.near_duplicates import near_duplicates
from overnight.labels.split import SPLITS
from overnight.labels.staging import BLANK, KEY, KEY_BYTES

EXAMPLES = 5
LABEL_CHANGES = 200
"""Label changes that are listed one by one."""
CLASS_LIMIT = 100_000
"""Classes beyond the most frequent ones are counted but not looked at one by one."""


def gather_facts(
    connection: duckdb.DuckDBPyConnection,
    rows_before: int | None,
    classes_before: frozenset[str] | None,
    near_duplicate_distance: int,
) -> SnapshotFacts:
    """Ask the staged relations (overnight/labels/staging.py) for every fact."""
    fates = _rows_without_image(connection)
    surviving, relabelled, moved = _surviving(connection)
    return SnapshotFacts(
        rows=_number(connection, "SELECT count(*) FROM label_rows"),
        rows_before=rows_before,
        images=_number(connection, "SELECT count(*) FROM images"),
        null_keys=fates.get("null key", Found()),
        null_labels=_null_labels(connection),
        bad_keys=fates.get("bad key", Found()),
        quarantined=fates.get("quarantined", Found()),
        labels_without_image=fates.get("no image", Found()),
        images_without_label=_images_without_label(connection),
        duplicate_keys=_repeated(connection, "min(code) = max(code)"),
        conflicting_keys=_repeated(connection, "min(code) <> max(code)"),
        classes=_classes(connection),
        class_total=_number(connection, "SELECT count(DISTINCT code) FROM label_rows"),
        classes_before=classes_before,
        label_rows=_label_rows(connection),
        surviving=surviving,
        relabelled=relabelled,
        label_changes=_label_changes(connection, relabelled),
        moved=_moved(connection, moved),
        changed_images=_changed_images(connection),
        near_duplicates=near_duplicates(connection, near_duplicate_distance),
    )


def _rows_without_image(connection: duckdb.DuckDBPyConnection) -> dict[str, Found]:
    """Labelled rows that name no live image, by why; and rows without a key, labelled or not."""
    found = connection.execute(
        f"""SELECT fate, count(*), list(coalesce(key, 'label ' || label) ORDER BY key, label)[:{EXAMPLES}] FROM (
            SELECT key, label, CASE
                WHEN key IS NULL OR regexp_matches(key, '{BLANK}') THEN 'null key'
                WHEN NOT regexp_full_match(key, '{KEY}') OR strlen(key) > {KEY_BYTES} THEN 'bad key'
                WHEN key IN (SELECT key FROM quarantine) THEN 'quarantined'
                ELSE 'no image' END AS fate
            FROM label_rows LEFT JOIN codes USING (code) WHERE pos IS NULL
        ) WHERE label IS NOT NULL OR fate = 'null key' GROUP BY fate"""
    )
    return {
        fate: Found(
            count=count, examples=tuple(repr(example) if fate == "bad key" else example for example in examples)
        )
        for fate, count, examples in found.fetchall()
    }


def _null_labels(connection: duckdb.DuckDBPyConnection) -> Found:
    """Rows with a key but without a label."""
    return _found(
        connection,
        f"""FROM label_rows LEFT JOIN images USING (pos) WHERE code IS NULL
        AND (pos IS NOT NULL OR NOT regexp_matches(coalesce(label_rows.key, ''), '{BLANK}'))""",
        "coalesce(label_rows.key, images.key)",
    )


def _images_without_label(connection: duckdb.DuckDBPyConnection) -> Found:
    """Images that no row names, labelled or not."""
    count = _number(
        connection,
        """SELECT (SELECT count(*) FROM images) - (SELECT count(pos) FROM label_rows)
        + (SELECT coalesce(sum(rows - 1), 0) FROM repeated)""",
    )
    unnamed = "FROM images WHERE pos NOT IN (SELECT pos FROM label_rows WHERE pos IS NOT NULL)"
    return _examples(connection, count, unnamed, "key")


def _repeated(connection: duckdb.DuckDBPyConnection, condition: str) -> Found:
    """Keys (of live images) that stand in several labelled rows whose labels meet `condition`."""
    return _found(
        connection,
        f"""FROM (SELECT pos, list(DISTINCT label ORDER BY label) AS labels FROM label_rows JOIN codes USING (code)
            WHERE pos IN (SELECT pos FROM repeated) GROUP BY pos HAVING count(*) > 1 AND {condition})
        JOIN images USING (pos)""",
        "key || ' (' || array_to_string(labels, ', ') || ')'",
    )


def _label_rows(connection: duckdb.DuckDBPyConnection) -> tuple[tuple[str, int], ...]:
    found = connection.execute(
        f"""SELECT label, count(*) FROM label_rows JOIN codes USING (code)
        GROUP BY label ORDER BY count(*) DESC, label LIMIT {CLASS_LIMIT}"""
    )
    return tuple((label, count) for label, count in found.fetchall())


def _classes(connection: duckdb.DuckDBPyConnection) -> tuple[ClassFacts, ...]:
    """Rows by class and split, and what became of each class since the previous snapshot."""
    found = connection.execute(
        f"""SELECT label,
            coalesce(sum(rows) FILTER (new = code AND split = 0), 0)::BIGINT,
            coalesce(sum(rows) FILTER (new = code AND split = 1), 0)::BIGINT,
            coalesce(sum(rows) FILTER (new = code AND split = 2), 0)::BIGINT,
            coalesce(sum(rows) FILTER (old = code), 0)::BIGINT,
            coalesce(sum(rows) FILTER (old = code AND new IS NULL), 0)::BIGINT,
            coalesce(sum(rows) FILTER (new = code AND old IS NULL), 0)::BIGINT,
            coalesce(sum(rows) FILTER (old = code AND new <> code), 0)::BIGINT
        FROM (SELECT new AS code, * FROM transitions WHERE new IS NOT NULL
            UNION ALL SELECT old AS code, * FROM transitions WHERE old IS NOT NULL AND old IS DISTINCT FROM new)
        JOIN codes USING (code) GROUP BY label ORDER BY sum(rows) DESC, label LIMIT {CLASS_LIMIT}"""
    )
    classes = [
        ClassFacts(
            name=label,
            splits=(train, validation, test),
            before=before,
            lost=lost,
            gained=gained,
            relabelled=relabelled,
        )
        for label, train, validation, test, before, lost, gained, relabelled in found.fetchall()
    ]
    return tuple(sorted(classes, key=lambda item: item.name))


def _surviving(connection: duckdb.DuckDBPyConnection) -> tuple[int, int, int]:
    """How many keys are in both snapshots; how many of them have another label; another split."""
    row = connection.execute(
        """SELECT coalesce(sum(rows), 0)::BIGINT, coalesce(sum(rows) FILTER (old <> new), 0)::BIGINT,
        coalesce(sum(moved), 0)::BIGINT FROM transitions WHERE old IS NOT NULL AND new IS NOT NULL"""
    ).fetchone()
    return row or (0, 0, 0)


def _label_changes(connection: duckdb.DuckDBPyConnection, count: int) -> tuple[LabelChange, ...]:
    """The first of the `count` label changes, in key order."""
    if count == 0:
        return ()
    found = connection.execute(
        f"""SELECT images.key, was.label, is_now.label FROM
        (SELECT pos, before_rows.code AS old, live.code AS new FROM live JOIN before_rows USING (pos)
            WHERE live.code <> before_rows.code ORDER BY pos LIMIT {LABEL_CHANGES}) AS changes
        JOIN images USING (pos) JOIN codes AS was ON was.code = old JOIN codes AS is_now ON is_now.code = new
        ORDER BY images.key"""
    )
    return tuple(LabelChange(key=key, old=old, new=new) for key, old, new in found.fetchall())


def _moved(connection: duckdb.DuckDBPyConnection, count: int) -> Found:
    names = f"[{', '.join(repr(name) for name in SPLITS)}]"
    return _examples(
        connection,
        count,
        """FROM live JOIN before_rows USING (pos) JOIN images USING (pos) WHERE live.split <> before_rows.split""",
        f"images.key || ' (' || {names}[before_rows.split + 1] || ' → ' || {names}[live.split + 1] || ')'",
    )


def _changed_images(connection: duckdb.DuckDBPyConnection) -> Found:
    return _found(connection, "FROM before_rows JOIN images USING (pos) WHERE changed", "key")


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def _found(connection: duckdb.DuckDBPyConnection, relation: str, example: str) -> Found:
    """Count the rows of `relation`; show the first few of the expression `example`."""
    return _examples(connection, _number(connection, f"SELECT count(*) {relation}"), relation, example)


def _examples(connection: duckdb.DuckDBPyConnection, count: int, relation: str, example: str) -> Found:
    """`count` things, and the first few of the expression `example` over `relation`, which holds them."""
    if count == 0:
        return Found()
    rows = connection.execute(f"SELECT {example} AS example {relation} ORDER BY example LIMIT {EXAMPLES}")
    return Found(count=count, examples=tuple(row[0] for row in rows.fetchall()))
