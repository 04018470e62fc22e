"""Names in the folder of a run that whoever writes it and whoever reads it share."""

RUN = "run.json"
RUN_FORMAT = "clearwatt-run"
RESULTS = "results.json"
RESULTS_FORMAT = "clearwatt-experiment"
VERSION = 1
TRIALS = "trials"
