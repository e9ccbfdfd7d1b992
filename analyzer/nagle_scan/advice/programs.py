"""What sets TCP_NODELAY in known programs and libraries.

A `Setting` says of a program, as a person calls it:

    knob     the setting or call, as it is written
    source   where this was read: an address, owner/repository#number or owner/repository:path
    note     when it is not needed, or what to look for instead

and what shows in a capture that it may be this program. One of these is enough; with none of them it
is listed in docs/settings.md and never named by a report. The first that match are shown, so the
likeliest come first.

    role     only if this end holds data back: "client" or "server"
    service  only on these ports, or where messages begin like this: the name of a `Service`
    server   beginnings of the value of an HTTP Server header
    agent    beginnings of the value of an HTTP User-Agent header
    head     a regular expression for the first bytes of a message
"""

from nagle_scan.advice.settings import Service, Setting

SERVICES = (
    Service("HTTP", (80, 8080), "IANA"),
    Service("SQL Server", (1433,), "IANA"),
    Service("MQTT", (1883,), "IANA"),
    Service("MySQL", (3306,), "IANA"),
    Service("PostgreSQL", (5432,), "IANA"),
    Service("AMQP", (5672,), "IANA", r"^AMQP\x00"),
    Service("Redis", (6379,), "IANA", r"^\*\d+\r\n\$\d+\r\n"),
    Service("Kafka", (9092,), "Kafka's default"),
    Service("memcached", (11211,), "IANA"),
    Service("DNP3", (20000,), "IANA"),
)
"""The protocols that settings name."""

SETTINGS = (
    # HTTP servers, by what they say of themselves
    Setting(
        program="nginx",
        knob="tcp_nodelay on;",
        source="https://nginx.org/en/docs/http/ngx_http_core_module.html#tcp_nodelay",
        note="the default: look for 'tcp_nodelay off' in http, server and location",
        role="server",
        server=("nginx", "openresty", "Tengine"),
    ),
    Setting(
        program="Python http.server",
        knob="disable_nagle_algorithm = True in the handler class, or wbufsize = -1 to write once",
        source="python/cpython#108736",
        role="server",
        server=("SimpleHTTP/", "BaseHTTP/"),
    ),
    Setting(
        program="Werkzeug (Flask's development server)",
        knob="disable_nagle_algorithm = True in the request handler class",
        source="pallets/werkzeug#1750",
        note="it is Python's http.server; newer versions close each connection",
        role="server",
        server=("Werkzeug/",),
    ),
    Setting(
        program="uvicorn or another asyncio server",
        knob="sockets handed to it: socket.socket(..., proto=socket.IPPROTO_TCP)",
        source="kserve/kserve#6050",
        note="asyncio sets TCP_NODELAY since Python 3.6, but only on sockets of this protocol number",
        role="server",
        server=("uvicorn", "hypercorn"),
    ),
    Setting(
        program="gunicorn",
        knob="sets TCP_NODELAY itself on the sockets it opens",
        source="benoitc/gunicorn:gunicorn/sock.py",
        note="so look at sockets it was given (systemd), and at what answers in front of it",
        role="server",
        server=("gunicorn",),
    ),
    Setting(
        program="aiohttp",
        knob="sets TCP_NODELAY through asyncio since Python 3.6",
        source="python/asyncio#311",
        note="older ones: transport.get_extra_info('socket').setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)",
        head=r"(?i)\r\n(?:Server|User-Agent): Python/3[.\d]* aiohttp/",
    ),
    Setting(
        program="WEBrick (Ruby)",
        knob="AcceptCallback: ->(socket) { socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }",
        source="ruby/webrick:lib/webrick/config.rb",
        role="server",
        server=("WEBrick/",),
    ),
    Setting(
        program="Swoole",
        knob="'open_tcp_nodelay' => true",
        source="swooletw/laravel-swoole#559",
        note="the default of new versions only",
        role="server",
        server=("swoole",),
    ),
    Setting(
        program="Apache httpd",
        knob="sets TCP_NODELAY itself, and has no directive for it",
        source="apache/httpd:server/mpm_common.c",
        note="so look at what answers in front of it",
        role="server",
        server=("Apache/", "Apache ("),
    ),
    Setting(
        program="Tomcat",
        knob='tcpNoDelay="true" on the Connector',
        source="https://tomcat.apache.org/tomcat-9.0-doc/config/http.html",
        note="the default: look for false",
        role="server",
        server=("Apache-Coyote/",),
    ),
    Setting(
        program="Jetty",
        knob="ServerConnector.setAcceptedTcpNoDelay(true), or jetty.http.acceptedTcpNoDelay=true",
        source="https://jetty.org/docs/jetty/12/operations-guide/modules/standard.html",
        note="the default: look for false",
        role="server",
        server=("Jetty(",),
    ),
    Setting(
        program="Kestrel (ASP.NET Core)",
        knob="SocketTransportOptions.NoDelay = true",
        source="https://learn.microsoft.com/dotnet/api/microsoft.aspnetcore.server.kestrel.transport.sockets.sockettransportoptions.nodelay",
        note="the default: look for false",
        role="server",
        server=("Kestrel",),
    ),
    Setting(
        program="Envoy",
        knob="sets TCP_NODELAY itself",
        source="envoyproxy/envoy#11434",
        note="so look at what answers in front of it",
        role="server",
        server=("envoy",),
    ),
    Setting(
        program="Node.js",
        knob="http.createServer({ noDelay: true }), or socket.setNoDelay(true)",
        source="nodejs/node#42163",
        note="the default of http since Node.js 18.0.0",
        role="server",
        head=r"(?s)\r\nX-Powered-By: Express\r\n|^HTTP/1\.1 (?!.*\r\nServer: ).*\r\nConnection: keep-alive\r\nKeep-Alive: timeout=\d+\r\n",
    ),
    # It sends no Server header, and these two in this order; Express says its name.
    Setting(
        program="JDK HttpServer (com.sun.net.httpserver)",
        knob="-Dsun.net.httpserver.nodelay=true",
        source="https://docs.oracle.com/en/java/javase/25/docs/api/jdk.httpserver/module-summary.html#sun.net.httpserver.nodelay",
        note="not needed from JDK 23 on, which writes head and body together",
        role="server",
        head=r"(?s)^HTTP/1\.[01] (?!.*\r\nServer: ).*\r\nDate: .*\r\n(?:Content-length|Transfer-encoding): ",
    ),
    # Its header names are capitalised at the first letter only, and it sends no Server header.
    # HTTP clients
    Setting(
        program="Go's net/http",
        knob="conn.SetNoDelay(true)",
        source="https://pkg.go.dev/net#TCPConn.SetNoDelay",
        note="the default of package net: look for SetNoDelay(false)",
        role="client",
        agent=("Go-http-client/",),
    ),
    Setting(
        program="curl, libcurl",
        knob="CURLOPT_TCP_NODELAY = 1, or --tcp-nodelay",
        source="https://curl.se/libcurl/c/CURLOPT_TCP_NODELAY.html",
        note="the default since 7.50.2: look for 0 or --no-tcp-nodelay",
        role="client",
        agent=("curl/", "GuzzleHttp/", "libcurl/"),
    ),
    Setting(
        program="Apache HttpClient",
        knob="SocketConfig.custom().setTcpNoDelay(true)",
        source="https://mail-archive.com/dev@hc.apache.org/msg22122.html",
        note="the default: look for false",
        role="client",
        agent=("Apache-HttpClient/",),
    ),
    Setting(
        program="Python's http.client (urllib, requests)",
        knob="sets TCP_NODELAY itself",
        source="python/cpython:Lib/http/client.py",
        note="so look for socket options of the program's own, and for a proxy between",
        role="client",
        agent=("python-requests/", "Python-urllib/", "python-urllib3/"),
    ),
    Setting(
        program="Node.js",
        knob="socket.setNoDelay(true), or new http.Agent({ noDelay: true })",
        source="nodejs/node#42163",
        note="the default of http since Node.js 18.0.0",
        role="client",
        agent=("axios/", "node-fetch", "undici", "got "),
    ),
    Setting(
        program="http.rb (Ruby)",
        knob="HTTP.nodelay",
        source="httprb/http#257",
        role="client",
        agent=("http.rb/",),
    ),
    Setting(
        program="Ruby's Net::HTTP",
        knob="sets TCP_NODELAY itself; the gem httpclient does not",
        source="nahi/httpclient#378",
        role="client",
        agent=("Ruby", "HTTPClient/"),
    ),
    # By port
    Setting(
        program="redis-rs (Rust)",
        knob="TcpSettings::default().set_nodelay(true)",
        source="redis-rs/redis-rs#2195",
        note="the default from 2.0 on",
        role="client",
        service="Redis",
    ),
    Setting(
        program="Lettuce (Java)",
        knob="SocketOptions.builder().tcpNoDelay(true)",
        source="redis/lettuce#1462",
        note="the default of new versions",
        role="client",
        service="Redis",
    ),
    Setting(
        program="Redisson (Java)",
        knob="tcpNoDelay: true",
        source="redisson/redisson#3477",
        note="the default of new versions",
        role="client",
        service="Redis",
    ),
    Setting(
        program="redis-py and hiredis",
        knob="set TCP_NODELAY themselves",
        source="redis/redis-py#475",
        role="client",
        service="Redis",
    ),
    Setting(
        program="redis-server",
        knob="sets TCP_NODELAY itself; towards replicas: repl-disable-tcp-nodelay no",
        source="redis/redis#3509",
        note="so look for a proxy or another server that speaks its protocol",
        role="server",
        service="Redis",
    ),
    Setting(
        program="Dragonfly",
        knob="--tcp_nodelay=true",
        source="dragonflydb/dragonfly#1910",
        note="the default since September 2023",
        role="server",
        service="Redis",
    ),
    Setting(
        program="sqlx (Rust)",
        knob="another version: 0.9.0 lost TCP_NODELAY, 0.8 set it",
        source="transact-rs/sqlx#4335",
        role="client",
        service="PostgreSQL",
    ),
    Setting(
        program="Npgsql (.NET)",
        knob="an update: it sets Socket.NoDelay",
        source="npgsql/npgsql#1338",
        role="client",
        service="PostgreSQL",
    ),
    Setting(
        program="libpq (psql, psycopg)",
        knob="sets TCP_NODELAY itself",
        source="transact-rs/sqlx#3043",
        role="client",
        service="PostgreSQL",
    ),
    Setting(
        program="PgCat",
        knob="an update: it held the end of replies longer than its 8 KB buffer",
        source="postgresml/pgcat#749",
        role="server",
        service="PostgreSQL",
    ),
    Setting(
        program="PostgreSQL",
        knob="sets TCP_NODELAY itself",
        source="npgsql/npgsql#1347",
        note="so look for a pooler or proxy in front of it",
        role="server",
        service="PostgreSQL",
    ),
    Setting(
        program="sqlx (Rust)",
        knob="another version: 0.9.0 lost TCP_NODELAY, 0.8 set it",
        source="transact-rs/sqlx#4335",
        role="client",
        service="MySQL",
    ),
    Setting(
        program="mysql crate (Rust)",
        knob="OptsBuilder::tcp_nodelay(true)",
        source="blackbeam/rust-mysql-simple#132",
        note="the default of new versions",
        role="client",
        service="MySQL",
    ),
    Setting(
        program="tiberius (Rust)",
        knob="tcp.set_nodelay(true) on the TcpStream before Client::connect",
        source="steffengy/tiberius#42",
        role="client",
        service="SQL Server",
    ),
    Setting(
        program="libmemcached (PHP: Memcached)",
        knob="MEMCACHED_BEHAVIOR_TCP_NODELAY (PHP: Memcached::OPT_TCP_NODELAY) = 1",
        source="php-memcached-dev/php-memcached#421",
        role="client",
        service="memcached",
    ),
    Setting(
        program="memcached",
        knob="has no setting: it does not set TCP_NODELAY on accepted sockets",
        source="memcached/memcached#124",
        role="server",
        service="memcached",
    ),
    Setting(
        program="RabbitMQ",
        knob="tcp_listen_options.nodelay = true",
        source="https://www.rabbitmq.com/docs/networking",
        role="server",
        service="AMQP",
    ),
    Setting(
        program="amqplib (Node.js)",
        knob="amqp.connect(url, { noDelay: true })",
        source="amqp-node/amqplib#40",
        role="client",
        service="AMQP",
    ),
    Setting(
        program="Bunny (Ruby)",
        knob="an update: TCP_NODELAY was asked for but not set",
        source="ruby-amqp/bunny#187",
        role="client",
        service="AMQP",
    ),
    Setting(
        program="librdkafka (confluent-kafka)",
        knob="socket.nagle.disable=true",
        source="confluentinc/librdkafka#4986",
        note="the default of new versions",
        role="client",
        service="Kafka",
    ),
    Setting(
        program="kafka-python",
        knob="socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]",
        source="dpkp/kafka-python#783",
        note="the default",
        role="client",
        service="Kafka",
    ),
    Setting(
        program="Mosquitto",
        knob="set_tcp_nodelay true",
        source="https://mosquitto.org/man/mosquitto-conf-5.html",
        role="server",
        service="MQTT",
    ),
    Setting(
        program="libmosquitto (mosquitto_pub, mosquitto_sub)",
        knob="mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1)",
        source="eclipse/mosquitto#1526",
        note="from 2.0 on; the command-line clients take --nodelay",
        role="client",
        service="MQTT",
    ),
    Setting(
        program="Eclipse Paho for C",
        knob="version 1.3.16 or newer, built without PAHO_NO_TCP_NODELAY",
        source="https://github.com/eclipse-paho/paho.mqtt.c/discussions/1631",
        role="client",
        service="MQTT",
    ),
    Setting(
        program="RabbitMQ's MQTT plugin",
        knob="mqtt.tcp_listen_options.nodelay = true",
        source="https://www.rabbitmq.com/docs/mqtt",
        role="server",
        service="MQTT",
    ),
    Setting(
        program="stepfunc's dnp3",
        knob="an update: TCP_NODELAY is the default now",
        source="stepfunc/dnp3#218",
        service="DNP3",
    ),
    # Libraries and programs that a capture does not name
    Setting(
        program="HAProxy",
        knob="option http-no-delay",
        source="haproxy/haproxy#825",
        note="it also takes away the 200 ms of MSG_MORE",
    ),
    Setting(
        program="Perl's HTTP::Daemon",
        knob="$client->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)",
        source="libwww-perl/HTTP-Daemon:lib/HTTP/Daemon.pm",
        note="on what accept() returns; it writes the status line apart from the header",
    ),
    Setting(
        program="Erlang's gen_tcp",
        knob="{nodelay, true}",
        source="https://www.erlang.org/doc/apps/kernel/inet.html",
        note="an option of connect() and listen(), or with inet:setopts()",
    ),
    Setting(
        program="Puma (Ruby)",
        knob="bind 'tcp://0.0.0.0:9292?low_latency=true'",
        source="puma/puma#2623",
    ),
    Setting(
        program="tonic (gRPC, Rust)",
        knob="Server::tcp_nodelay(true); with serve_with_incoming set it on the sockets",
        source="grpc/grpc-rust#2413",
    ),
    Setting(
        program="grpc-go",
        knob="sets TCP_NODELAY itself",
        source="grpc/grpc-rust#120",
    ),
    Setting(
        program="axum (Rust)",
        knob="axum::serve(...).tcp_nodelay(true)",
        source="tokio-rs/axum#2521",
    ),
    Setting(
        program="hyper (Rust)",
        knob="HttpConnector::set_nodelay(true)",
        source="kurrent-io/KurrentDB-Client-Rust#233",
    ),
    Setting(
        program="Rust's std and tokio",
        knob="TcpStream::set_nodelay(true)",
        source="https://doc.rust-lang.org/std/net/struct.TcpStream.html#method.set_nodelay",
    ),
    Setting(
        program="Netty",
        knob="childOption(ChannelOption.TCP_NODELAY, true)",
        source="netty/netty:transport/src/main/java/io/netty/channel/socket/DefaultSocketChannelConfig.java",
        note="the default of Netty 4",
    ),
    Setting(
        program="Java-WebSocket",
        knob="server.setTcpNoDelay(true), client.setTcpNoDelay(true)",
        source="https://github.com/TooTallNate/Java-WebSocket/wiki/Enable-TCP_NODELAY",
    ),
    Setting(
        program="Java sockets",
        knob="socket.setTcpNoDelay(true)",
        source="https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/net/Socket.html",
    ),
    Setting(
        program=".NET sockets",
        knob="Socket.NoDelay = true",
        source="https://learn.microsoft.com/dotnet/api/system.net.sockets.socket.nodelay",
    ),
    Setting(
        program=".NET Framework's HttpWebRequest",
        knob="ServicePointManager.UseNagleAlgorithm = false",
        source="https://learn.microsoft.com/dotnet/api/system.net.servicepointmanager.usenaglealgorithm",
    ),
    Setting(
        program="Boost.Asio",
        knob="socket.set_option(boost::asio::ip::tcp::no_delay(true))",
        source="https://www.boost.org/latest/doc/html/boost_asio/reference/ip__tcp/no_delay.html",
    ),
    Setting(
        program="libuv",
        knob="uv_tcp_nodelay(handle, 1)",
        source="https://docs.libuv.org/en/v1.x/tcp.html",
    ),
    Setting(
        program="Erlang and Elixir",
        knob="{nodelay, true}",
        source="https://www.erlang.org/doc/apps/kernel/inet.html",
    ),
    Setting(
        program="PHP streams",
        knob="stream_context_create(['socket' => ['tcp_nodelay' => true]])",
        source="https://www.php.net/manual/en/context.socket.php",
    ),
    Setting(
        program="Wrench (PHP WebSocket)",
        knob="an update: it sets TCP_NODELAY",
        source="varspool/Wrench#104",
    ),
    Setting(
        program="Lwt (OCaml)",
        knob="Lwt_io: ~set_tcp_nodelay:true",
        source="https://github.com/ocsigen/lwt/commit/829084",
        note="the default since 5.10.0",
    ),
    Setting(
        program="uhttpd (OpenWrt)",
        knob="an update: it wrote a reply line by line",
        source="openwrt/uhttpd#34",
    ),
)
"""The likeliest first, wherever a capture names them."""
