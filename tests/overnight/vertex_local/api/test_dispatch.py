import pytest

from overnight.vertex_local.api.dispatch import Api
from overnight.vertex_local.api.projects import Projects


def test_a_handler_for_a_method_that_is_not_there_is_a_mistake():
    with pytest.raises(ValueError, match="JobService/CreateCustomJbo"):
        Api({"JobService/CreateCustomJbo": lambda request: request}, Projects("p", "1"))
