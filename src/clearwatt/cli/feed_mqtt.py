"""``clearwatt feed mqtt``: readings that a broker publishes go to a service, each once."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.feed_output import FeedOutput
from clearwatt.cli.feed_state import SPOOL, add_state_options, lock_state, state_folder
from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import facts_table, print_tables
from clearwatt.cli.service import add_address_options, require_service, token_of
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.feeds.broker_settings import BrokerSettings
    from clearwatt.feeds.intake import Notify
    from clearwatt.feeds.messages import MessageFormat
    from clearwatt.feeds.mqtt import FeedCounts, MqttFeed
    from clearwatt.feeds.stopping import StopRequest
    from clearwatt.http_retry import RetryCallback

_UNITS = ("W", "kW", "MW", "GW", "Wh", "kWh", "MWh", "GWh")


def register(actions: Commands) -> None:
    """Add the action to the parser of ``clearwatt feed``."""
    parser = actions.add_parser(
        "mqtt", help="send readings that an MQTT broker publishes", allow_abbrev=False
    )
    parser.add_argument("--broker", required=True, metavar="HOST[:PORT]", help="of the broker")
    add_list_option(
        parser, "--topic", "TOPIC", "such as site/+/power or site/{zone}/{entity}/power"
    )
    add_state_options(parser)
    add_address_options(parser)
    _add_format_options(parser)
    _add_login_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def _add_format_options(parser: argparse.ArgumentParser) -> None:
    for name, about in (("entity", "entity"), ("time", "time"), ("value", "value")):
        parser.add_argument(
            f"--{name}-key",
            default=name,
            metavar="KEY",
            help=f"key of the {about} in a JSON object (default {name}); a.b is b in a",
        )
    parser.add_argument("--unit", choices=_UNITS, help="of values (default: the entity's own)")
    parser.add_argument(
        "--timezone", metavar="ZONE", help="of times without offset, such as Europe/Warsaw"
    )
    parser.add_argument(
        "--interval",
        choices=("start", "end"),
        default="start",
        help="the end of its interval that a time marks (default start)",
    )
    parser.add_argument(
        "--time",
        choices=("payload", "arrival"),
        default="payload",
        help="arrival: readings without a time get that of their arrival",
    )
    parser.add_argument(
        "--align", action="store_true", help="round times down to the step of the zone"
    )
    parser.add_argument(
        "--average", action="store_true", help="send the mean of each step, once it has ended"
    )


def _add_login_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", metavar="NAME", help="(default: $CLEARWATT_MQTT_USER)")
    parser.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="with the password only (default: $CLEARWATT_MQTT_PASSWORD)",
    )
    parser.add_argument("--tls", action="store_true", help="encrypt the connection")
    for name, about in (
        ("ca", "authorities to trust, instead of the system's"),
        ("cert", "the feed's own certificate"),
        ("key", "the key of this certificate"),
    ):
        parser.add_argument(f"--{name}-file", type=Path, metavar="FILE", help=about)
    parser.add_argument(
        "--client-id", metavar="NAME", help="of the session (default: chosen once, kept in DIR)"
    )
    parser.add_argument(
        "--protocol", choices=("5", "3.1.1"), default="5", help="version of MQTT (default 5)"
    )


def run(options: argparse.Namespace) -> None:
    """Feed until SIGTERM or Ctrl-C, then print the counts."""
    require_service()
    from clearwatt.feeds.stopping import StopRequest, stop_on_signals

    stop, output = StopRequest(), FeedOutput(as_json=options.json)
    with ExitStack() as stack:
        feed = open_feed(options, stack, stop=stop, notify=output.notify, on_retry=output.on_retry)
        output.notify(f"spool and dead letters are in {state_folder(options)}")
        stack.enter_context(stop_on_signals(stop))
        counts = output.follow(feed.run(), line=_line, facts=asdict)
    if not options.json:
        print_tables([facts_table(f"feed of {options.broker}", counts)])


def open_feed(
    options: argparse.Namespace,
    stack: ExitStack,
    *,
    stop: StopRequest,
    notify: Notify,
    on_retry: RetryCallback,
) -> MqttFeed:
    """The feed of the options; the stack closes what it has opened."""
    from clearwatt.feeds.broker import Broker
    from clearwatt.feeds.dead_letters import DeadLetterFile
    from clearwatt.feeds.delivery import Delivery
    from clearwatt.feeds.mqtt import MqttFeed
    from clearwatt.feeds.spool import Spool

    form, settings, folder = (
        _message_format(options),
        _broker_settings(options),
        state_folder(options),
    )
    stack.enter_context(lock_state(folder))
    spool = stack.enter_context(closing(Spool(folder / SPOOL)))
    delivery = Delivery(options.url, token_of(options), stop=stop, on_retry=on_retry)
    stack.enter_context(closing(delivery))
    filters = [topic.filter for topic in form.topics]
    broker = Broker(settings, filters, spool, client_id=options.client_id, stop=stop, notify=notify)
    letters = DeadLetterFile(folder)
    return MqttFeed(broker, spool, form=form, delivery=delivery, letters=letters, stop=stop)


def _message_format(options: argparse.Namespace) -> MessageFormat:
    from clearwatt.feeds.messages import MessageFormat
    from clearwatt.feeds.payloads import PayloadFormat
    from clearwatt.feeds.topics import TopicPattern

    if not options.topic:
        raise ConfigurationError("--topic is missing; name one or more, such as site/+/power")
    payload = PayloadFormat(
        entity_key=options.entity_key,
        time_key=options.time_key,
        value_key=options.value_key,
        unit=options.unit,
        timezone=options.timezone,
        time=options.time,
    )
    topics = [TopicPattern(text) for text in dict.fromkeys(options.topic)]
    return MessageFormat(
        topics,
        options.zone,
        payload,
        interval=options.interval,
        align=options.align,
        average=options.average,
    )


def _broker_settings(options: argparse.Namespace) -> BrokerSettings:
    from clearwatt.feeds.broker_settings import (
        BrokerSettings,
        TlsFiles,
        read_address,
        read_credentials,
    )

    files = (options.ca_file, options.cert_file, options.key_file)
    tls = TlsFiles(*files) if options.tls or any(files) else None
    host, port = read_address(options.broker, tls=tls is not None)
    user, password = read_credentials(options.user, options.password_file)
    return BrokerSettings(host, port, user, password, tls, options.protocol)


def _line(counts: FeedCounts) -> str:
    state = "connected" if counts.connected else "not connected"
    known = counts.duplicates + counts.corrections
    return (
        f"{state}; {counts.received:,} messages received, {counts.waiting:,} waiting; readings: "
        f"{counts.new:,} new, {known:,} known before, {counts.dead_letters:,} dead letters"
    )
