"""What `benchmarks/service.py` consists of: a real service, made-up regions, callers, parts."""
