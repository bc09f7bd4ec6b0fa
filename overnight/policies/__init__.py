"""Rules in Rego: where they stand, the engines that evaluate them, and what they say about a document."""
