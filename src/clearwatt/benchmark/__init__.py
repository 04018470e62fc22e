"""Against what people use today: every peer on the same data, with the same knowledge."""
