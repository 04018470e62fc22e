"""Names in the folder of an experiment."""

RESULTS = "results.json"
RESULTS_FORMAT = "clearwatt-experiment"
VERSION = 1
TRIALS = "trials"
