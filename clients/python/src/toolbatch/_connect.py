"""Where a server is, and how it is reached."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import grpc
from grpc import aio

DEFAULT_SERVER = "http://127.0.0.1:50051"
_MIB = 1024 * 1024
_MAX_MESSAGE = 65 * _MIB  # 64 MiB, and what is around it
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE),
    ("grpc.max_send_message_length", _MAX_MESSAGE),
    # A connection that failed is tried again as soon as the client asks again, not after up to 120 s.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A connection that is dead without a word is noticed while a stream is open.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Channels of one process would share a connection, and its fate, otherwise.
    ("grpc.use_local_subchannel_pool", 1),
)
# The smallest window, and none that grows: a server sends what a stream reads, and nothing before.
_CAREFUL = (("grpc.http2.lookahead_bytes", 5), ("grpc.http2.bdp_probe", 0))


@dataclass(frozen=True, slots=True)
class Target:
    """A server's address, checked, with what is needed to connect."""

    address: str
    credentials: grpc.ChannelCredentials | None
    options: tuple[tuple[str, int | str], ...]

    def open(self, *, careful: bool = False) -> aio.Channel:
        """Open a channel; it connects with its first request. On a careful one no message waits to be read, at a round trip for each."""
        options = (*self.options, *_CAREFUL) if careful else self.options
        if self.credentials is None:
            return aio.insecure_channel(self.address, options=options)
        return aio.secure_channel(self.address, self.credentials, options=options)


def target(
    server: str | None,
    ca: str | os.PathLike[str] | None,
    cert: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
) -> Target:
    """Check where a server is. ValueError says what is wrong with it, OSError what with a file."""
    server = server or os.environ.get("TOOLBATCH_SERVER") or DEFAULT_SERVER
    if (cert is None) != (key is None):
        raise ValueError("a client certificate needs both cert and key")
    if server.startswith("unix:"):
        return _unix(server, [ca, cert])
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https"):
        raise _wrong(server)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(server, str(error)) from None
    if (
        not host
        or port is None
        or parts.path not in ("", "/")
        or parts.query
        or parts.fragment
        or parts.username is not None
    ):
        raise _wrong(server)
    options = (*_OPTIONS, ("grpc.enable_http_proxy", 0)) if host in _LOOPBACK else _OPTIONS
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if parts.scheme == "http":
        _no_tls(server, [ca, cert])
        return Target(address, None, options)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=Path(ca).read_bytes() if ca is not None else None,
        private_key=Path(key).read_bytes() if key is not None else None,
        certificate_chain=Path(cert).read_bytes() if cert is not None else None,
    )
    return Target(address, credentials, options)


def metadata(token: str | None, extra: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Give what every request carries. ValueError where a token cannot be one; it does not show the token."""
    token = token or os.environ.get("TOOLBATCH_TOKEN")
    if not token:
        return tuple(extra)
    if not all("!" <= char <= "~" for char in token):
        raise ValueError(
            "the token has blanks, line ends or characters beyond ASCII; a token is visible ASCII characters alone"
        )
    return (("authorization", f"Bearer {token}"), *extra)


def _unix(server: str, tls: Sequence[object]) -> Target:
    path = server.removeprefix("unix:")
    if not path.startswith("/"):
        raise _wrong(server)
    _no_tls(server, tls)
    path = "/" + path.lstrip("/")
    # The socket's path would be the :authority, which is none that HTTP/2 allows.
    return Target(f"unix:{path}", None, (*_OPTIONS, ("grpc.default_authority", "localhost")))


def _no_tls(server: str, tls: Sequence[object]) -> None:
    if any(file is not None for file in tls):
        raise ValueError(
            f"{server} is reached without TLS, so ca, cert and key mean nothing there; use https://HOST:PORT or leave them out"
        )


def _wrong(server: str, why: str = "") -> ValueError:
    because = f" ({why})" if why else ""
    return ValueError(
        f"the server {server!r} is no address{because}: expected http://HOST:PORT, https://HOST:PORT or unix:/PATH"
    )
