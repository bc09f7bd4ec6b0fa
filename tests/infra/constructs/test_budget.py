from typing import Any

from training_stack import resources


def budget(edit: Any = None) -> dict[str, Any]:
    made = resources("google_billing_budget", edit) if edit else resources("google_billing_budget")
    return made["project_budget"]


def test_each_threshold_is_told_when_reached_and_when_forecast() -> None:
    rules = [(rule["spend_basis"], rule["threshold_percent"]) for rule in budget()["threshold_rules"]]
    assert rules == [(basis, share) for basis in ("CURRENT_SPEND", "FORECASTED_SPEND") for share in (0.5, 0.8, 1)]


def test_it_counts_this_project_by_its_number_and_month() -> None:
    assert budget()["budget_filter"] == {"projects": ["projects/481516234207"], "calendar_period": "MONTH"}
    assert budget()["amount"] == {"specified_amount": {"currency_code": "EUR", "units": "20000"}}
    assert budget()["billing_account"] == "01A2B3-C4D5E6-F7A8B9"


def test_it_notifies_the_channels_up_to_the_five_that_billing_takes() -> None:
    def many(google: dict[str, Any]) -> None:
        google["monitoring"]["notification_emails"] = [f"person{number}@acme.example" for number in range(7)]

    assert budget()["all_updates_rule"]["monitoring_notification_channels"] == [
        "${google_monitoring_notification_channel.vision_oncall_acme_example_channel.id}"
    ]
    assert len(budget(many)["all_updates_rule"]["monitoring_notification_channels"]) == 5
    assert len(resources("google_monitoring_notification_channel", many)) == 7
