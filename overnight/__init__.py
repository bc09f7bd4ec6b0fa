"""The control plane of Overnight: everything that runs on a laptop, in Cloud Build and in pipeline steps."""

__version__ = "0.1.0"
