"""Read models of zones and entities, computed from the store; no HTTP."""
