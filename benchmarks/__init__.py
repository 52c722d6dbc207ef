"""Benchmarks: how fast minitrpo is, and how well it learns, beside its peers; needs `pip install -e '.[bench]'`."""
