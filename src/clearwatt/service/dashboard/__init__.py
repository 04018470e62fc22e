"""The pages people look at: rendered here, kept live by a little JavaScript over the same API."""
