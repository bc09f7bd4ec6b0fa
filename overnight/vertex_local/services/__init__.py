"""One module a Vertex AI service: what each of its methods does."""
