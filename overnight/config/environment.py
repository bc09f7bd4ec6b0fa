"""What one environment holds: where things stand, how labels are judged, and its Google Cloud project if it has one."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from overnight.config.google import GoogleConfig
from overnight.config.section import Section

Fraction = Annotated[float, Field(ge=0.0, le=1.0, description="a share, 0 to 1")]
Growth = Annotated[float, Field(ge=0.0, description="a share, 0 or more; 0.5 is half as much again")]
Count = Annotated[int, Field(ge=1, description="a whole number, at least 1")]


class LabelsConfig(Section):
    """Where the label table stands."""

    database: str = Field(default="labels.duckdb", min_length=1, description="a file name, such as labels.duckdb")
    """DuckDB file, relative to `root`."""
    table: str = Field(
        default="labels",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="a table's name: letters, digits and '_', not beginning with a digit",
    )


class SplitConfig(Section):
    """Shares of the groups that become training, validation and test data; the salt fixes which."""

    salt: str = Field(default="overnight", description="any text")
    train: Fraction = 0.7
    validation: Fraction = 0.1
    test: Fraction = 0.2

    @model_validator(mode="after")
    def _shares_add_up(self) -> "SplitConfig":
        total = self.train + self.validation + self.test
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"the shares add up to {total:g}; make train + validation + test 1")
        return self


class ValidationConfig(Section):
    """Thresholds of the snapshot checks; each one's meaning and reason stand in docs/validation.md."""

    min_rows: Count = 100
    max_rows: Count = 1_000_000_000
    max_row_drop: Fraction = 0.05
    max_row_growth: Growth = 0.5
    max_nulls: Fraction = 0.0
    max_bad_keys: Fraction = 0.0
    max_duplicate_keys: Fraction = 0.0
    max_conflicting_keys: Fraction = 0.0
    max_labels_without_image: Fraction = 0.001
    max_quarantined: Fraction = 0.02
    max_images_without_label: Fraction = 0.02
    min_classes: int = Field(default=2, ge=2, description="a whole number, at least 2")
    max_classes: int = Field(default=50_000, ge=2, le=100_000, description="a whole number, 2 to 100000")
    allow_new_classes: bool = False
    allow_vanished_classes: bool = False
    max_js_divergence: Fraction = 0.01
    significance: float = Field(default=0.001, gt=0.0, lt=1.0, description="a p-value between 0 and 1, such as 0.001")
    """Below this p-value a change counts as more than chance."""
    max_class_loss: Fraction = 0.1
    max_class_growth: Growth = 1.0
    """Growth beyond it is a warning, never a rejection."""
    max_label_churn: Fraction = 0.05
    max_class_churn: Fraction = 0.25
    min_split_rows_per_class: int = Field(default=5, ge=0, description="a whole number, 0 or more")
    max_moved_splits: Fraction = 0.0
    max_changed_images: Fraction = 0.01
    near_duplicate_distance: int = Field(default=1, ge=0, le=2, description="bits, 0 to 2")
    """Bits of the 64-bit perceptual hash that may differ."""
    max_near_duplicates: Fraction = 0.1


class ShardsConfig(Section):
    """How images become shards."""

    images_per_shard: Count = 500
    max_shorter_side: int = Field(default=0, ge=0, description="pixels; 0 keeps every image as it is")
    """Cap of the shorter side in pixels; 0 keeps every image as it is."""
    jpeg_quality: int = Field(default=95, ge=1, le=100, description="a JPEG quality, 1 to 100")
    """Only for images that must be re-encoded."""
    restart_markers: bool = True
    """Rewrite JPEGs without loss, so that training decodes only the rows it needs; takes the trainer package."""
    max_pixels: Count = 200_000_000


class GateConfig(Section):
    """What a challenger must show before it becomes champion; each rule's reason stands in docs/promotion.md."""

    split: Literal["validation", "test"] = "test"
    confidence: float = Field(default=0.95, gt=0.5, lt=1.0, description="a share between 0.5 and 1, such as 0.95")
    """Of the two-sided intervals; a bound of such an interval decides."""
    bootstrap_samples: int = Field(default=2000, ge=100, description="a whole number, at least 100")
    min_groups: Count = 30
    """Fewer independent groups than this in the split decide nothing: refused."""
    max_regression: Fraction = 0.01
    """The challenger's accuracy may lie at most this far below the champion's (lower confidence bound)."""
    min_class_recall: Fraction = 0.3
    """Floor of every class with at least `min_class_support` images, unless the champion is no better there."""
    min_class_support: Count = 10
    max_class_recall_drop: Fraction = 0.15
    """Against the champion; a larger drop counts when its confidence interval lies below zero."""
    seed: int = Field(default=0, description="a whole number")


class Environment(Section):
    """One environment, as in config/<name>.yaml."""

    environment: str = Field(
        pattern=r"^[a-z]([a-z0-9-]{0,19}[a-z0-9])?$",
        description="a name of at most 21 lower-case letters, digits and hyphens, such as dev or prod",
    )
    root: str = Field(min_length=1, description="a folder, such as data")
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
