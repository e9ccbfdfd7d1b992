"""Real relays between the two ends of programs/relayed.py: what runs, and who holds.

FOLDER stands for the run's own folder, where its settings and its certificate lie.
"""

from __future__ import annotations

from dataclasses import dataclass

FRONT, BACK = 8101, 8100  # where the relay listens, and the server

NGINX = """daemon off; master_process off; pid FOLDER/nginx.pid; error_log FOLDER/nginx.log;
load_module /usr/lib/nginx/modules/ngx_stream_module.so; worker_rlimit_nofile 4096;
events { worker_connections 2000; }
"""
STREAM = """stream {
 tcp_nodelay NODELAY;
 server { listen 127.0.0.1:8101 TLS proxy_pass 127.0.0.1:8100; } }
"""
HTTP = """http { access_log off; tcp_nodelay NODELAY;
 client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy; fastcgi_temp_path FOLDER/f;
 uwsgi_temp_path FOLDER/u; scgi_temp_path FOLDER/s;
 upstream back { server 127.0.0.1:8100; KEEPALIVE }
 server { listen 127.0.0.1:8101; location / { proxy_pass http://back; proxy_http_version 1.1;
  proxy_buffering BUFFERING; proxy_request_buffering BUFFERING; HEADERS } } }
"""
KEPT = 'proxy_set_header Connection "";'
UPGRADED = 'proxy_set_header Connection "upgrade"; proxy_set_header Upgrade websocket;'
HAPROXY = """global
 maxconn 2000
 nbthread 1
defaults
 mode MODE
 OPTION
 timeout connect 5s
 timeout client 60s
 timeout server 60s
listen front
 bind 127.0.0.1:8101
 server back 127.0.0.1:8100
"""
STUNNEL = """foreground = yes
pid =
socket = l:TCP_NODELAY=ONOFF
socket = r:TCP_NODELAY=ONOFF
[front]
accept = 127.0.0.1:8101
connect = 127.0.0.1:8100
cert = FOLDER/pem
"""
CERTIFICATE = "ssl; ssl_certificate FOLDER/pem; ssl_certificate_key FOLDER/pem;"
SOCAT_FRONT = "8101,bind=127.0.0.1,fork,reuseaddr,backlog=200"
COMMANDS = {
    "nginx": "nginx -c FOLDER/settings -e FOLDER/nginx.log",
    "haproxy": "haproxy -f FOLDER/settings",
    "stunnel": "stunnel FOLDER/settings",
}


@dataclass(frozen=True)
class RealChain:
    """One run of a relay that others wrote; without a command there is no relay."""

    id: str
    command: str = ""
    settings: str = ""
    kind: str = "line"
    client: str = ""  # options of relayed.py
    server: str = ""


@dataclass(frozen=True)
class Relay:
    """A program, what it is told, and the protocol that it forwards."""

    command: str
    settings: str = ""
    kind: str = "line"
    tls: bool = False


def filled(text: str, **values: str) -> str:
    """With values for the names in capitals."""
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def nginx_stream(nodelay: str = "on", tls: bool = False) -> Relay:
    """nginx that forwards bytes."""
    stream = filled(STREAM, NODELAY=nodelay, TLS=CERTIFICATE if tls else ";")
    return Relay(COMMANDS["nginx"], NGINX + stream, tls=tls)


def nginx_http(kind: str = "http", nodelay: str = "on", **values: str) -> Relay:
    """nginx that forwards requests."""
    usual = {"BUFFERING": "off", "KEEPALIVE": "keepalive 8;", "HEADERS": KEPT}
    http = filled(HTTP, NODELAY=nodelay, **(usual | values))
    return Relay(COMMANDS["nginx"], NGINX + http, kind)


def haproxy(mode: str, kind: str, option: str = "") -> Relay:
    """HAProxy."""
    return Relay(COMMANDS["haproxy"], filled(HAPROXY, MODE=mode, OPTION=option), kind)


def socat(nodelay: bool, tls: bool = False) -> Relay:
    """socat, which has no settings file."""
    option = ",nodelay" if nodelay else ""
    listen = f"{'OPENSSL' if tls else 'TCP'}-LISTEN:{SOCAT_FRONT}{option}"
    listen += ",verify=0,cert=FOLDER/pem" if tls else ""
    return Relay(f"socat {listen} TCP:127.0.0.1:8100{option}", tls=tls)


def stunnel(nodelay: bool) -> Relay:
    """stunnel."""
    return Relay(COMMANDS["stunnel"], filled(STUNNEL, ONOFF=str(int(nodelay))), tls=True)


def relays() -> dict[str, Relay]:
    """Each by a name."""
    return {
        "nginx-stream": nginx_stream(),
        "nginx-stream-nagle": nginx_stream("off"),
        "nginx-tls": nginx_stream(tls=True),
        "nginx-http": nginx_http(),
        "nginx-http-buffered": nginx_http(BUFFERING="on"),
        "nginx-http-chunked": nginx_http("chunked"),
        "nginx-http-close": nginx_http(KEEPALIVE=""),
        "nginx-http-nagle": nginx_http("chunked", nodelay="off"),
        "nginx-websocket": nginx_http("websocket", KEEPALIVE="", HEADERS=UPGRADED),
        "haproxy-tcp": haproxy("tcp", "line"),
        "haproxy-http": haproxy("http", "http"),
        "haproxy-http-chunked": haproxy("http", "chunked", "option http-no-delay"),
        "haproxy-websocket": haproxy("http", "websocket"),
        "socat": socat(nodelay=True),
        "socat-nagle": socat(nodelay=False),
        "socat-tls": socat(nodelay=True, tls=True),
        "stunnel": stunnel(nodelay=True),
        "stunnel-nagle": stunnel(nodelay=False),
    }


def behaviours(name: str, relay: Relay) -> dict[str, tuple[str, str]]:
    """Options of client and server, for all that is asked of a relay."""
    tls = " --tls" if relay.tls else ""
    whole = "--nodelay --pieces 80" + tls
    said = {
        "server": (whole, "--pieces 90,12"),
        "server-10": (whole + " --connections 10 --think 9000", "--pieces 90,12"),
        "nodelay-pauses": (whole, "--nodelay --pieces 90,12 --gap 40000"),
        "apart": (whole, "--nodelay --pieces 90,12,30 --gap 300"),
    }
    if relay.kind != "websocket":
        said["client"] = ("--pieces 80,40" + tls, "--nodelay --pieces 90")
    if name in ("nginx-stream", "haproxy-tcp", "socat"):
        said["server-50"] = (whole + " --connections 50", "--pieces 90,12")
        said["both"] = ("--pieces 80,40", "--pieces 90,12")
    return said


def hubs() -> list[RealChain]:
    """A server that tells everybody what one client said: a relay at the end of the chain."""
    quiet = "--nodelay --connections 6 --count 40 --think 60000"
    said = {
        "hub": ("--pieces 60 --burst 102", ""),
        "hub-apart": ("--pieces 60 --burst 102", "--gap 300"),
        "hub-12": ("--pieces 60 --burst 102 --connections 12", ""),
        "nodelay": ("--pieces 60,30 --burst 200", "--nodelay --pieces 100"),
        "nodelay-pauses": ("--pieces 60,30 --gap 40000 --burst 200", "--nodelay --pieces 100"),
    }
    return [
        RealChain(f"irc-{what}", kind="irc", client=f"{quiet} {client}", server=server)
        for what, (client, server) in said.items()
    ]


def all_real() -> list[RealChain]:
    """Every relay with every behaviour."""
    return [
        RealChain(f"{name}-{what}", relay.command, relay.settings, relay.kind, client, server)
        for name, relay in relays().items()
        for what, (client, server) in behaviours(name, relay).items()
    ] + hubs()
