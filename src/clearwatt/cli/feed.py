"""``clearwatt feed``: readings of an MQTT broker or of dropped files go to a service."""

from __future__ import annotations

from clearwatt.cli import feed_folder, feed_letters, feed_mqtt
from clearwatt.cli.options import Commands


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("feed", help="send readings to a service as they come")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for action in (feed_mqtt, feed_folder, feed_letters):
        action.register(actions)
