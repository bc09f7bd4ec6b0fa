from overnight.report.classes import MAX_CLASSES, build_classes
from overnight.report.sources import Sources


def sources(confusion):
    """A run that measured `confusion` on its validation split, and nothing else."""
    names = [f"class-{i:03d}" for i in range(len(confusion))]
    named = [sum(row[i] for row in confusion) for i in range(len(confusion))]
    per_class = [
        {
            "class": name,
            "support": sum(row),
            "recall": row[i] / sum(row) if sum(row) else None,
            "precision": row[i] / named[i] if named[i] else None,
        }
        for i, (name, row) in enumerate(zip(names, confusion, strict=True))
    ]
    final = {
        "split": "validation",
        "samples": sum(map(sum, confusion)),
        "expected_calibration_error": 0.0,
        "calibration": [{"lower": 0.0, "upper": 1.0, "count": 0, "confidence": 0.0, "accuracy": 0.0}],
        "per_class": per_class,
        "confusion": confusion,
    }
    return Sources({}, {"final": final}, None, None, None, None, None, None, None)


def diagonal(count, right=9, wrong=1):
    """Each class is taken for the next one `wrong` times."""
    return [[right if i == j else wrong + i if j == (i + 1) % count else 0 for j in range(count)] for i in range(count)]


def test_few_classes_have_a_matrix_in_the_order_of_their_names():
    found = build_classes(sources(diagonal(3)))
    assert found is not None
    assert [[cell.count for cell in row] for row in found.matrix] == [[9, 1, 0], [0, 9, 2], [3, 0, 9]]
    assert found.matrix[2][0].share == 0.25
    assert [(entry.truth, entry.predicted, entry.count) for entry in found.confusions] == [
        ("class-002", "class-000", 3),
        ("class-001", "class-002", 2),
        ("class-000", "class-001", 1),
    ]


def test_many_classes_come_worst_first_without_a_matrix():
    found = build_classes(sources(diagonal(100)))
    assert found is not None
    assert found.matrix == ()
    assert (len(found.rows), len(found.more_rows)) == (MAX_CLASSES, 100 - MAX_CLASSES)
    assert found.rows[0].name == "class-099"
    assert found.confusions[0].count == 100


def test_a_class_without_images_or_answers_is_a_dash():
    found = build_classes(sources([[5, 0], [0, 0]]))
    assert found is not None
    assert (found.rows[1].recall_text, found.rows[1].precision) == ("–", "–")
    assert found.bins == ()
