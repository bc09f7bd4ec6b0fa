"""What one environment holds: where things stand, how labels are judged, and its Google Cloud project if it has one."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from overnight.config.google import GoogleConfig
from overnight.config.section import Section

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class LabelsConfig(Section):
    """Where the label table stands."""

    database: str = "labels.duckdb"
    """DuckDB file, relative to `root`."""
    table: str = Field(default="labels", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")


class SplitConfig(Section):
    """Shares of the groups that become training, validation and test data; the salt fixes which."""

    salt: str = "overnight"
    train: Fraction = 0.7
    validation: Fraction = 0.1
    test: Fraction = 0.2

    @model_validator(mode="after")
    def _shares_add_up(self) -> "SplitConfig":
        if abs(self.train + self.validation + self.test - 1.0) > 1e-9:
            raise ValueError("train + validation + test must be 1")
        return self


class ValidationConfig(Section):
    """Thresholds of the snapshot checks; each one's meaning and reason stand in docs/validation.md."""

    min_rows: int = Field(default=100, ge=1)
    max_rows: int = Field(default=1_000_000_000, ge=1)
    max_row_drop: Fraction = 0.05
    max_row_growth: float = Field(default=0.5, ge=0.0)
    max_nulls: Fraction = 0.0
    max_bad_keys: Fraction = 0.0
    max_duplicate_keys: Fraction = 0.0
    max_conflicting_keys: Fraction = 0.0
    max_labels_without_image: Fraction = 0.001
    max_quarantined: Fraction = 0.02
    max_images_without_label: Fraction = 0.02
    min_classes: int = Field(default=2, ge=2)
    max_classes: int = Field(default=50_000, ge=2, le=100_000)
    allow_new_classes: bool = False
    allow_vanished_classes: bool = False
    max_js_divergence: Fraction = 0.01
    significance: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.001
    """Below this p-value a change counts as more than chance."""
    max_class_loss: Fraction = 0.1
    max_class_growth: float = Field(default=1.0, ge=0.0)
    """Growth beyond it is a warning, never a rejection."""
    max_label_churn: Fraction = 0.05
    max_class_churn: Fraction = 0.25
    min_split_rows_per_class: int = Field(default=5, ge=0)
    max_moved_splits: Fraction = 0.0
    max_changed_images: Fraction = 0.01
    near_duplicate_distance: int = Field(default=1, ge=0, le=2)
    """Bits of the 64-bit perceptual hash that may differ."""
    max_near_duplicates: Fraction = 0.1


class ShardsConfig(Section):
    """How images become shards."""

    images_per_shard: int = Field(default=500, ge=1)
    max_shorter_side: int = Field(default=0, ge=0)
    """Cap of the shorter side in pixels; 0 keeps every image as it is."""
    jpeg_quality: int = Field(default=95, ge=1, le=100)
    """Only for images that must be re-encoded."""
    max_pixels: int = Field(default=200_000_000, ge=1)


class GateConfig(Section):
    """What a challenger must show before it becomes champion; each rule's reason stands in docs/promotion.md."""

    split: str = Field(default="test", pattern=r"^(validation|test)$")
    confidence: Annotated[float, Field(gt=0.5, lt=1.0)] = 0.95
    """Of the two-sided intervals; a bound of such an interval decides."""
    bootstrap_samples: int = Field(default=2000, ge=100)
    min_groups: int = Field(default=30, ge=1)
    """Fewer independent groups than this in the split decide nothing: refused."""
    max_regression: Fraction = 0.01
    """The challenger's accuracy may lie at most this far below the champion's (lower confidence bound)."""
    min_class_recall: Fraction = 0.3
    """Floor of every class with at least `min_class_support` images, unless the champion is no better there."""
    min_class_support: int = Field(default=10, ge=1)
    max_class_recall_drop: Fraction = 0.15
    """Against the champion; a larger drop counts when its confidence interval lies below zero."""
    seed: int = 0


class Environment(Section):
    """One environment, as in config/<name>.yaml."""

    environment: str = Field(pattern=r"^[a-z][a-z0-9-]{0,20}$")
    root: str
    """Folder that holds everything Overnight stores; relative to the current folder."""
    labels: LabelsConfig = LabelsConfig()
    split: SplitConfig = SplitConfig()
    validation: ValidationConfig = ValidationConfig()
    shards: ShardsConfig = ShardsConfig()
    gate: GateConfig = GateConfig()
    google: GoogleConfig | None = None
    """The project that infra/ provisions; without it everything stays on this machine."""

    @property
    def root_path(self) -> Path:
        """`root` as an absolute path."""
        return Path(self.root).expanduser().absolute()

    @property
    def catalog_path(self) -> Path:
        """The image catalogue, a Parquet file."""
        return self.root_path / "catalog" / "images.parquet"

    @property
    def database_path(self) -> Path:
        """The DuckDB file with the label table."""
        return self.root_path / self.labels.database

    @property
    def shards_path(self) -> Path:
        """The folder of all shard sets."""
        return self.root_path / "shards"

    @property
    def snapshots_path(self) -> Path:
        """The folder of all snapshots."""
        return self.root_path / "snapshots"

    @property
    def runs_path(self) -> Path:
        """The folder of all runs."""
        return self.root_path / "runs"

    @property
    def models_path(self) -> Path:
        """The model registry."""
        return self.root_path / "models"
