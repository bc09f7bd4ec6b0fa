"""What the project may cost before someone hears of it. A budget alerts; it stops nothing."""

from collections.abc import Sequence
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack

MOST_CHANNELS = 5
"""Cloud Billing notifies at most five channels of a budget; billing administrators hear of it anyway."""


def create_budget(stack: Stack, channels: Sequence[Any]) -> Any:
    """A monthly budget of the project, told at each share of the amount: when reached, and when it is forecast."""
    budget = stack.google.budget
    return cdk.BillingBudget(
        stack,
        "project_budget",
        billing_account=budget.billing_account,
        display_name=stack.names.prefixed("budget"),
        budget_filter=cdk.BillingBudgetBudgetFilter(
            # The API answers with the number: an id here would be a difference in every plan.
            projects=[f"projects/{stack.google.project_number}"],
            calendar_period="MONTH",
        ),
        amount=cdk.BillingBudgetAmount(
            specified_amount=cdk.BillingBudgetAmountSpecifiedAmount(
                currency_code=budget.currency_code, units=str(budget.amount)
            )
        ),
        threshold_rules=[
            cdk.BillingBudgetThresholdRules(threshold_percent=share, spend_basis=basis)
            for basis in ("CURRENT_SPEND", "FORECASTED_SPEND")
            for share in budget.thresholds
        ],
        all_updates_rule=cdk.BillingBudgetAllUpdatesRule(
            monitoring_notification_channels=[channel.id for channel in channels[:MOST_CHANNELS]],
            disable_default_iam_recipients=False,
        ),
    )
