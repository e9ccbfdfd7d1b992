"""TCP_NODELAY settings of programs and libraries that a capture does not reveal.

Listed in docs/settings.md only.
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
        program="Erlang and Elixir (gen_tcp)",
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
        program="axum (Rust)",
        knob="axum::serve(...).tcp_nodelay(true)",
        source="tokio-rs/axum#2521",
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
        program="Java sockets",
        knob="socket.setTcpNoDelay(true)",
        source="https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/net/Socket.html",
    ),
    Setting(
        program=".NET sockets",
        knob="Socket.NoDelay = true",
        source="https://learn.microsoft.com/dotnet/api/system.net.sockets.socket.nodelay",
        note="off unless set",
    ),
    Setting(
        program=".NET's HttpClient (SocketsHttpHandler)",
        knob="sets Socket.NoDelay itself",
        source="dotnet/runtime:src/libraries/System.Net.Http/src/System/Net/Http/SocketsHttpHandler/ConnectionPool/HttpConnectionPool.cs",
        note="a ConnectCallback has to set it",
    ),
    Setting(
        program="Go's package net",
        knob="conn.SetNoDelay(true)",
        source="https://pkg.go.dev/net#TCPConn.SetNoDelay",
        note="the default: look for SetNoDelay(false)",
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
        program="PHP streams",
        knob="stream_context_create(['socket' => ['tcp_nodelay' => true]])",
        source="https://www.php.net/manual/en/context.socket.php",
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
    Setting(
        program="Onload (AMD Solarflare), for any program on it",
        knob="EF_FORCE_TCP_NODELAY=1",
        source="https://docs.amd.com/r/en-US/ug1586-onload-user/EF_FORCE_TCP_NODELAY",
        note="without a change in the program",
    ),
    Setting(
        program="reqwest (Rust)",
        knob="ClientBuilder::tcp_nodelay(true)",
        source="seanmonstar/reqwest:src/async_impl/client.rs",
        note="the default: look for false",
    ),
    Setting(
        program="Vert.x",
        knob="NetServerOptions.setTcpNoDelay(true), NetClientOptions.setTcpNoDelay(true)",
        source="eclipse-vertx/vert.x:src/main/java/io/vertx/core/net/TCPSSLOptions.java",
        note="the default: look for false",
    ),
    Setting(
        program="Ktor's sockets",
        knob="noDelay = true",
        source="https://api.ktor.io/3.0.x/ktor-network/io.ktor.network.sockets/tcp-no-delay.html",
        note="the default: look for false",
    ),
    Setting(
        program="Twisted",
        knob="transport.setTcpNoDelay(True)",
        source="https://opensource.apple.com/source/ChatServer/ChatServer-37.1/libraries/Twisted-1.3.0/doc/api/twisted.internet.interfaces.ITCPTransport.html",
    ),
    Setting(
        program="Bun, Deno and Node.js: net.Socket",
        knob="socket.setNoDelay(true)",
        source="https://docs.deno.com/api/node/net/~/Socket.prototype.setNoDelay",
    ),
    Setting(
        program="Apache Thrift (C++)",
        knob="TSocket::setNoDelay(true)",
        source="apache/thrift:lib/cpp/src/thrift/transport/TSocket.h",
    ),
    Setting(
        program="ZeroMQ (libzmq)",
        knob="sets TCP_NODELAY itself",
        source="zeromq/libzmq:src/tcp.cpp",
    ),
    Setting(
        program="CivetWeb",
        knob="tcp_nodelay 1",
        source="https://orthanc.uclouvain.be/hg/orthanc/rev/f948deef53d9",
    ),
    Setting(
        program="OpenVPN over TCP",
        knob="socket-flags TCP_NODELAY",
        source="https://www.mail-archive.com/openvpn-devel@lists.sourceforge.net/msg39790.html",
        note="always set since 2.7.6",
    ),
    Setting(
        program="IBM Storage Protect",
        knob="TCPNODELAY YES",
        source="https://www.ibm.com/docs/en/storage-protect/8.2.2?topic=options-tcpnodelay",
        note="the default: look for NO",
    ),
    Setting(
        program="Solace .NET API",
        knob="SessionProperties.TcpNoDelay = true",
        source="https://docs.solace.com/API-Developer-Online-Ref-Documentation/net/html/c1696908-cd92-c7ff-2c50-82f6e89b397b.htm",
        note="the default: look for false",
    ),
    Setting(
        program="Unreal Engine",
        knob="FSocket::SetNoDelay(true)",
        source="https://dev.epicgames.com/documentation/unreal-engine/API/Runtime/Sockets/FSocket/SetNoDelay",
    ),
    Setting(
        program="iperf3",
        knob="--no-delay (-N)",
        source="esnet/iperf:src/iperf_locale.c",
    ),
    Setting(
        program="stunnel",
        knob="socket = l:TCP_NODELAY=1 and socket = r:TCP_NODELAY=1",
        source="https://manpages.ubuntu.com/manpages/noble/man8/stunnel3.8.html",
        note="for local and remote sockets",
    ),
)
