"""Job specs: a YAML file that holds a Vertex AI message, checked, resolved and run."""
