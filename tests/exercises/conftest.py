"""One thread for products of matrices: those of several workers would wait for each other on few cores."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

assert np  # whose library has to be there before it can be limited


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield
