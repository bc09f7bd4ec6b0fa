"""What the checks need to know about a label table, a shard set and the snapshot before: plain data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Found:
    """How many there are of something, and a few of them in words."""

    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LabelChange:
    """A key whose label differs from the previous snapshot's."""

    key: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class ClassFacts:
    """One class, in rows (images) of the snapshot to be, and of the previous one."""

    name: str
    splits: tuple[int, int, int] = (0, 0, 0)
    """Rows now, in train, validation and test."""
    before: int = 0
    """Rows in the previous snapshot."""
    lost: int = 0
    """Rows of this class in the previous snapshot whose key is not in this one."""
    gained: int = 0
    """Rows of this class now whose key was not in the previous snapshot."""
    relabelled: int = 0
    """Rows of this class in the previous snapshot that have another label now."""

    @property
    def rows(self) -> int:
        """Rows now."""
        return sum(self.splits)


@dataclass(frozen=True, kw_only=True)
class SnapshotFacts:
    """Everything the checks look at. Rows are rows of the label table, images are live images of the shard set."""

    rows: int
    rows_before: int | None
    """Rows of the label table when the previous snapshot was made; None for the first."""
    images: int
    null_keys: Found = Found()
    null_labels: Found = Found()
    bad_keys: Found = Found()
    quarantined: Found = Found()
    labels_without_image: Found = Found()
    images_without_label: Found = Found()
    duplicate_keys: Found = Found()
    conflicting_keys: Found = Found()
    classes: tuple[ClassFacts, ...] = ()
    """Classes of this snapshot or the previous one, by name."""
    class_total: int = 0
    """Number of different labels in the label table."""
    classes_before: frozenset[str] | None = None
    label_rows: tuple[tuple[str, int], ...] = ()
    """Rows of the label table by label, blank ones left out."""
    surviving: int = 0
    """Keys that are in the previous snapshot and in this one."""
    relabelled: int = 0
    """Surviving keys with another label."""
    label_changes: tuple[LabelChange, ...] = ()
    """The first of them, in key order."""
    moved: Found = Found()
    """Surviving keys whose split differs."""
    changed_images: Found = Found()
    """Surviving keys whose stored bytes differ."""
    near_duplicates: Found = Found()
    """Validation and test images that look like a training image of another group."""

    @property
    def snapshot_rows(self) -> int:
        """Rows the snapshot would have."""
        return sum(item.rows for item in self.classes)

    @property
    def split_rows(self) -> tuple[int, int, int]:
        """Rows in train, validation and test."""
        train, validation, test = (sum(item.splits[code] for item in self.classes) for code in range(3))
        return train, validation, test
