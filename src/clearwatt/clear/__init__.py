"""The paper's CLeaR framework: detect novelty, buffer it, and update the models."""
