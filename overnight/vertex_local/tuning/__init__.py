"""Hyperparameter tuning: which values to try next, what trials have measured, when the job has ended."""
