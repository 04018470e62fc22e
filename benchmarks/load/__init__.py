"""Parts of `benchmarks/service.py`: a real service, artificial regions, callers, measurements."""
