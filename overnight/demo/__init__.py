"""The demo: three weeks of a small image classifier, played with real pictures and the real commands."""
