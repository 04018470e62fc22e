"""What benchmarks of the paper's approaches share: a stream, and its scores."""
