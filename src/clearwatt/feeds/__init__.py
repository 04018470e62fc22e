"""Live feeds into a service: readings of an MQTT broker, and files dropped into a folder."""
