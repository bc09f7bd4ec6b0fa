"""One small mistake each, and the rules that must speak up about it, those and no others.

Each works on any plan or synthesized stack that holds the types it needs: the house of tests/policies/data, and the
stacks of infra/.
"""

from policies import mistakes_in_access, mistakes_in_storage, mistakes_in_training
from policies.mistakes import MUTATIONS, Mutation

__all__ = ["MUTATIONS", "Mutation", "mistakes_in_access", "mistakes_in_storage", "mistakes_in_training"]
