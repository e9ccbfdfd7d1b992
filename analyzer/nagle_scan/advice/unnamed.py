"""What sets TCP_NODELAY in programs and libraries that nothing in a capture points to.

They are listed in docs/settings.md, and no report names them.
"""

from nagle_scan.advice.setting import Setting

SETTINGS = (
    Setting(
        program="HAProxy",
        knob="option http-no-delay",
        source="haproxy/haproxy#825",
        note="it also removes the 200 ms delay of MSG_MORE",
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
