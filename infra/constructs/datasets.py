"""BigQuery datasets."""

from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Dataset

MILLISECONDS_PER_DAY = 86_400_000
TIME_TRAVEL_HOURS = 168
"""How far back a table can be queried as it was: the most that BigQuery keeps."""


def add_dataset(stack: Stack, purpose: Dataset, description: str, *, table_days: int | None = None) -> Any:
    """A dataset in the region; each new table is dropped after `table_days`, never without."""
    encryption = None
    if stack.google.cmek.enabled:
        encryption = cdk.BigqueryDatasetDefaultEncryptionConfiguration(kms_key_name=stack.names.key("bigquery"))
    return cdk.BigqueryDataset(
        stack,
        f"{purpose}_dataset",
        project=stack.google.project_id,
        dataset_id=stack.names.dataset(purpose),
        description=description,
        location=stack.google.region,
        default_table_expiration_ms=table_days and table_days * MILLISECONDS_PER_DAY,
        max_time_travel_hours=str(TIME_TRAVEL_HOURS),
        default_encryption_configuration=encryption,
        delete_contents_on_destroy=False,
        labels=stack.labels,
        lifecycle=stack.kept,
    )
