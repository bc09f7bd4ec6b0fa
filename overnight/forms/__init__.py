"""Files that are a service's message written as YAML: the line of each field, their form, what is wrong in them."""
