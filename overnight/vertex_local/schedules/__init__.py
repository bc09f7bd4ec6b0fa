"""Schedules: when a cron expression comes round next, and which runs that starts, queues or skips."""
