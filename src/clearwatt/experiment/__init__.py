"""The paper's experiment: approaches compared by the paper's metrics and by their live error."""
