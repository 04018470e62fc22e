"""Connection to an MQTT broker whose session outlives it.

The broker keeps messages while the feed is away, and sends again what was not acknowledged.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError
from clearwatt.feeds.broker_settings import BrokerSettings
from clearwatt.feeds.intake import Connected, Intake, Notify
from clearwatt.feeds.spool import Arrival, Message, Spool
from clearwatt.feeds.stopping import FeedStoppedError, StopRequest

if TYPE_CHECKING:
    import paho.mqtt.client as paho
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

KEEPALIVE = 30
SESSION_SECONDS = 30 * 24 * 3600
"""How long the broker keeps the session and its messages while the feed is away."""
RECEIVE_MAXIMUM = 5_000
"""Messages that the broker may send before one is acknowledged."""
FIRST_WAIT, LONGEST_WAIT = 1, 30
"""Seconds between two attempts to connect."""
_LASTING = {0x84, 0x85, 0x86, 0x87, 0x8C}
"""Reasons of a refusal that waiting does not mend: protocol, client id, user, rights, method."""


class BrokerError(ClearwattError):
    """The broker refuses the connection or the subscription."""


class Broker:
    """Receives the messages of topic filters (QoS 1) into a spool, in threads of its own.

    The client id is chosen once per spool and kept there, unless it is given.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        filters: Sequence[str],
        spool: Spool,
        *,
        client_id: str | None,
        stop: StopRequest,
        notify: Notify,
    ) -> None:
        self._settings, self._filters = settings, list(filters)
        self._stop, self._notify = stop, notify
        self._error: ClearwattError | None = None
        self._connection, self.connected = 0, False
        known = spool.filters()
        self._had_session = known is not None
        self._outdated = [each for each in known or () if each not in self._filters]
        self.client_id = spool.client_id(client_id)
        self._client = self._make_client()
        self.intake = Intake(spool, acknowledge=self._acknowledge, stop=stop, notify=notify)
        self._opening = threading.Thread(target=self._open, name="feed-connect", daemon=True)

    def start(self) -> None:
        """Connect in the background; goes on until it works."""
        self.intake.start()
        self._opening.start()

    def close(self) -> None:
        """Disconnect; the session stays with the broker. The stop must have been asked for."""
        self._opening.join()
        self.intake.join()
        self._client.disconnect()
        self._client.loop_stop()

    def check(self) -> None:
        """Raise the error that waiting does not mend, if there is one."""
        if self._error is not None:
            raise self._error

    def _make_client(self) -> paho.Client:
        try:
            import paho.mqtt.client as paho
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise MissingExtraError("paho-mqtt", "mqtt") from error
        five = self._settings.protocol == "5"
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            self.client_id,
            clean_session=None if five else False,
            protocol=paho.MQTTv5 if five else paho.MQTTv311,
            manual_ack=True,
        )
        client.reconnect_delay_set(FIRST_WAIT, LONGEST_WAIT)
        if self._settings.user is not None:
            client.username_pw_set(self._settings.user, self._settings.password)
        if self._settings.tls is not None:
            client.tls_set_context(self._tls_context())
        client.on_connect, client.on_connect_fail = self._on_connect, self._on_connect_fail
        client.on_disconnect, client.on_subscribe = self._on_disconnect, self._on_subscribe
        client.on_message = self._on_message
        return client

    def _tls_context(self) -> ssl.SSLContext:
        files = self._settings.tls
        assert files is not None
        try:
            context = ssl.create_default_context(cafile=files.authorities)
            if files.certificate is not None:
                context.load_cert_chain(files.certificate, files.key)
        except (ssl.SSLError, OSError) as error:
            raise ConfigurationError(f"the TLS files cannot be used: {error}") from error
        return context

    def _connect(self) -> None:
        host, port = self._settings.host, self._settings.port
        if self._settings.protocol == "5":
            properties = _session_properties()
            self._client.connect(host, port, KEEPALIVE, clean_start=False, properties=properties)
        else:
            self._client.connect(host, port, KEEPALIVE)

    def _open(self) -> None:
        """Make the first connection, then leave the connection to paho's thread."""
        wait = FIRST_WAIT
        while not self._stop.is_set():
            try:
                self._connect()
                self._client.loop_start()
                return
            except ssl.SSLError as error:
                self._error = BrokerError(
                    f"the TLS connection to {self._settings.address} fails: {error}; check "
                    "--ca-file and the port"
                )
                return
            except OSError as error:
                self._notify(
                    f"no broker answers at {self._settings.address} ({error}); trying again"
                )
            try:
                self._stop.pause(wait)
            except FeedStoppedError:
                return
            wait = min(2 * wait, LONGEST_WAIT)

    def _on_connect(
        self,
        client: paho.Client,
        data: object,
        flags: paho.ConnectFlags,
        reason: ReasonCode,
        properties: object,
    ) -> None:
        if reason.is_failure:
            self._refuse_connection(reason)
            return
        present = bool(flags.session_present)
        if not present and self._had_session:
            self._notify(
                "the broker has forgotten the feed's session, and with it what was published while "
                "the feed was away; switch its persistence on"
            )
        self.intake.put(Connected(self._filters, present))
        self._connection += 1
        self._had_session = True
        self._subscribe(client)

    def _refuse_connection(self, reason: ReasonCode) -> None:
        message = f"the broker at {self._settings.address} refuses the connection: {reason}"
        if self._connection or reason.value not in _LASTING:
            self._notify(f"{message}; trying again")
        else:
            self._error = BrokerError(
                f"{message}; check user and password, --client-id, and --protocol"
            )

    def _subscribe(self, client: paho.Client) -> None:
        from paho.mqtt.subscribeoptions import SubscribeOptions

        if self._outdated:
            client.unsubscribe(self._outdated)
        if self._settings.protocol == "5":
            options = SubscribeOptions(
                qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
            )
            client.subscribe([(each, options) for each in self._filters])
        else:
            client.subscribe([(each, 1) for each in self._filters])

    def _on_subscribe(
        self,
        client: paho.Client,
        data: object,
        packet: int,
        reasons: list[ReasonCode],
        properties: object,
    ) -> None:
        for topic, reason in zip(self._filters, reasons, strict=False):
            if reason.is_failure:
                self._error = BrokerError(
                    f"the broker at {self._settings.address} refuses the subscription to "
                    f"{topic!r}: {reason}; check the rights of the user"
                )
            elif reason.value == 0:
                self._notify(f"the broker grants {topic!r} without acknowledgement (QoS 0) only")
        if self._error is None:
            self.connected = True
            topics = ", ".join(self._filters)
            self._notify(f"receiving {topics} from {self._settings.address}")

    def _on_message(self, client: paho.Client, data: object, message: paho.MQTTMessage) -> None:
        arrived = Message(message.topic, bytes(message.payload), time.time(), message.retain)
        packet = message.mid if message.qos else None
        self.intake.put(Arrival(arrived, packet, bool(message.dup)))

    def _on_disconnect(
        self,
        client: paho.Client,
        data: object,
        flags: object,
        reason: ReasonCode,
        properties: object,
    ) -> None:
        self.connected = False
        if not self._stop.is_set() and self._connection and self._error is None:
            self._notify(f"the connection to the broker is lost ({reason}); trying again")

    def _on_connect_fail(self, client: paho.Client, data: object) -> None:
        self._notify(f"no broker answers at {self._settings.address}; trying again")

    def _acknowledge(self, packet: int, connection: int) -> None:
        # The broker repeats messages of an earlier connection; their numbers may have changed.
        if connection == self._connection:
            self._client.ack(packet, 1)


def _session_properties() -> Properties:
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = SESSION_SECONDS
    properties.ReceiveMaximum = RECEIVE_MAXIMUM
    return properties
