"""What to look at before a job is sent: quotas against limits where they can be read, and who may act as whom."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from overnight.errors import OvernightError
from overnight.jobs.plan import Plan
from overnight.jobs.quotas import SERVICE, Quota, quotas_needed
from overnight.jobs.request import Request
from overnight.jobs.view import JobView

SERVICE_USAGE = "https://serviceusage.googleapis.com"
SECONDS_A_CALL = 20.0


@dataclass(frozen=True)
class Need:
    """One quota of one region, and its limit where it is known."""

    fallback: int
    region: str
    quota: Quota
    limit: int | None = None
    """-1: no limit."""

    @property
    def verdict(self) -> str:
        """`enough`, `too little`, or `check`: nothing is known of it. What runs beside it is not counted."""
        if self.limit is None:
            return "check"
        return "enough" if self.limit < 0 or self.limit >= self.quota.amount else "too little"


Limits = Callable[[str, str], int | None]
"""From metric and region to the limit; None when it cannot be read."""


def unknown(metric: str, region: str) -> int | None:
    """Without credentials no limit is known."""
    return None


def needs(plan: Plan, limits: Limits = unknown) -> list[Need]:
    """What every way to run the job draws on; what is needed more than once, at its largest."""
    found: dict[tuple[str, str], Need] = {}
    for request in plan.requests:
        for quota in quotas_needed(_view(request)):
            key = (quota.metric, request.region)
            if key not in found or found[key].quota.amount < quota.amount:
                first = found[key].fallback if key in found else request.fallback
                found[key] = Need(first, request.region, quota, limits(*key))
    return list(found.values())


def reminders(plan: Plan, project: str) -> list[str]:
    """What no API says beforehand, with the command that looks."""
    listing = f"gcloud alpha services quota list --service={SERVICE} --consumer=projects/{project}"
    found = [f"Limits: {listing} --filter=metric:custom_model_training"]
    for account in dict.fromkeys(_account(request) for request in plan.requests):
        if account:
            found.append(
                f"Whoever submits must be allowed to act as {account}: "
                f"gcloud iam service-accounts get-iam-policy {account} --project={project}"
            )
    return found


class ServiceUsage:
    """Limits from Service Usage's consumer quota metrics (v1beta1), read with whatever credentials there are."""

    def __init__(self, session: Any, project: str, url: str = SERVICE_USAGE) -> None:
        self._session = session
        self._parent = f"{url}/v1beta1/projects/{project}/services/{SERVICE}/consumerQuotaMetrics"

    def __call__(self, metric: str, region: str) -> int | None:
        """The limit of one metric in a region; None when the service has no such metric. Raises OvernightError."""
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        if not metric.startswith(f"{SERVICE}/") or "…" in metric:
            return None  # nobody has published its name
        try:
            answer = self._session.get(f"{self._parent}/{quote(metric, safe='')}", timeout=SECONDS_A_CALL)
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            return effective_limit(answer.json(), region)
        except (RequestException, GoogleAuthError, ValueError) as error:
            raise OvernightError(
                f"limits cannot be read: {error}", remedy="this needs roles/servicequota.viewer, or leave --limits out"
            ) from error


def effective_limit(metric: dict[str, Any], region: str) -> int | None:
    """The limit of a ConsumerQuotaMetric in a region: of its own bucket, else of the one for all regions."""
    best: int | None = None
    for limit in metric.get("consumerQuotaLimits", []):
        if "{region}" not in limit.get("unit", ""):
            continue
        buckets = limit.get("quotaBuckets", [])
        own = [item for item in buckets if item.get("dimensions", {}).get("region") == region]
        everywhere = [item for item in buckets if not item.get("dimensions")]
        for bucket in (own or everywhere)[:1]:
            best = int(bucket.get("effectiveLimit", 0))
    return best


def too_little(found: Iterable[Need]) -> list[Need]:
    """Those whose limit is known and is less than what is needed."""
    return [need for need in found if need.verdict == "too little"]


def _view(request: Request) -> JobView:
    return JobView(kind=request.kind, data=request.job, named_region=request.region)


def _account(request: Request) -> str | None:
    return _view(request).service_account
