"""Networks to capture in: namespaces, a wire with delay or none, and tcpdump at every point.

    client --wire-- router --wire-- server     (a delay: Net(rtt_ms=26))
    client --------- veth --------- server     (Net('veth'))
    one namespace, interface lo                (Net('loopback'))
    stack --stack0-- client or server ...      (Net(stacks=...))

A stack in user space sits on a TUN interface; the kernel of its namespace only forwards packets.
Each case gets fresh namespaces, so no cached route metrics pass from one to the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tools import tool

LINUX = "linux"
STACK_INTERFACE = "stack0"  # the TUN interface of a stack in user space
CLIENT, SERVER, CLIENT_ROUTER, SERVER_ROUTER = "10.10.1.2", "10.10.2.2", "10.10.1.1", "10.10.2.1"
VETH_CLIENT = "10.10.2.1"
SIX = {"10.10.1.": "fd00:1::", "10.10.2.": "fd00:2::", "10.10.3.": "fd00:3::"}
SNAP_LENGTH = 96  # all headers, but for the last options of an IPv6 SYN captured by '-i any'
# Whatever keeps a wire or a stack off the processor would be a delay of the network.
AT_ONCE = ("chrt", "--fifo", "5")
Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Stack:
    """Addresses of a stack in user space: its own, its kernel's, and that of its namespace."""

    own: str
    kernel: str
    wire: str
    veth: str


STACKS = {
    "c": Stack("10.10.3.2", "10.10.3.1", CLIENT, VETH_CLIENT),
    "s": Stack("10.10.4.2", "10.10.4.1", SERVER, SERVER),
}


def sh(command: str, check: bool = True) -> str:
    """Standard output of a command without quotes."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True)
class Net:
    """The path between client and server."""

    kind: str = "wire"  # wire | veth | loopback
    rtt_ms: float = 1.9
    share_there: float = 0.5  # of the RTT on the way to the server
    # Options of wire.c: of both wires; of the one at the client, before the point 'middle', a link
    # that is not merely far; and of the one at the server.
    wire: str = ""
    client_wire: str = ""
    server_wire: str = ""
    ipv6: bool = False
    congestion: str = "cubic"  # of the peers' sockets
    sysctls: tuple[str, ...] = ()  # 'net.ipv4....=1', on both ends
    busy: int = 0  # programs that do nothing but take processor time
    client_quickack: bool = False  # the client acknowledges at once, as macOS does; wire only
    stacks: tuple[str, str] = (LINUX, LINUX)  # that run TCP at the client and at the server

    @property
    def one_way_ms(self) -> tuple[float, float]:
        """Delay there and back."""
        rtt = self.rtt_ms if self.kind == "wire" else 0.0
        return rtt * self.share_there, rtt * (1 - self.share_there)

    def has_stack(self, which: str) -> bool:
        """A stack in user space runs TCP in the namespace c or s."""
        return which in "cs" and self.stacks["cs".index(which)] != LINUX

    def points(self) -> dict[str, tuple[str, str]]:
        """Where captures can be taken: name -> (namespace, interface)."""
        if self.kind == "loopback":
            return {"loopback": ("c", "lo")}
        ends = {
            "client": ("c", STACK_INTERFACE if self.has_stack("c") else "eth0"),
            "server": ("s", STACK_INTERFACE if self.has_stack("s") else "eth0"),
        }
        return ends | ({"middle": ("m", "left")} if self.kind == "wire" else {})


class Network:
    """Namespaces with a Net between them, for the length of a 'with' block."""

    def __init__(self, net: Net, log: Path) -> None:
        self.net, self.log_path = net, log
        self.prefix = f"lab{os.getpid()}"
        self.processes: list[Process] = []
        self.wires: list[Process] = []

    def __enter__(self) -> Self:
        """Build it."""
        self._remove_namespaces()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs in it, write the wires' log, and remove it."""
        for process in self.processes + self.wires:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait()
        if self.wires:
            lines = (
                f"{name} {line}\n"
                for name, wire in zip(("client-side", "server-side"), self.wires, strict=False)
                for line in wire.communicate()[0].splitlines()
            )
            self.log_path.write_text("".join(lines))
        self._remove_namespaces()

    @property
    def server_address(self) -> str:
        """Where the client finds the server."""
        if self.net.kind == "loopback":
            return "::1" if self.net.ipv6 else "127.0.0.1"
        if self.net.has_stack("s"):
            return STACKS["s"].own
        return self._six(SERVER) if self.net.ipv6 else SERVER

    @staticmethod
    def _six(address: str) -> str:
        network, _, host = address.rpartition(".")
        return SIX[f"{network}."] + host

    def namespace(self, which: str) -> str:
        """Full name of the namespace c, m or s."""
        return f"{self.prefix}{'c' if self.net.kind == 'loopback' else which}"

    # -- building ---------------------------------------------------------------------------------

    def _used(self) -> str:
        return {"wire": "cms", "veth": "cs", "loopback": "c"}[self.net.kind]

    def _remove_namespaces(self) -> None:
        for which in "cms":
            sh(f"ip netns del {self.prefix}{which}", check=False)

    def _ip(self, which: str, command: str) -> None:
        sh(f"ip -n {self.prefix}{which} {command}")

    def _inside(self, which: str, command: str) -> None:
        sh(f"ip netns exec {self.prefix}{which} {command}")

    def _sysctl(self, which: str, *settings: str) -> None:
        if settings:
            self._inside(which, f"sysctl -qw {' '.join(settings)}")

    def _build(self) -> None:
        for which in self._used():
            sh(f"ip netns add {self.prefix}{which}")
            self._ip(which, "link set lo up")
            self._sysctl(which, *self.net.sysctls)
        if self.net.kind == "veth":
            self._build_veth()
        elif self.net.kind == "wire":
            self._build_wires()
        for which in filter(self.net.has_stack, "cs"):
            self._build_stack(which, STACKS[which])
        for _ in range(self.net.busy):
            self.start(self._used()[-1], "sh", "-c", "while :; do :; done")

    def _build_veth(self) -> None:
        p = self.prefix
        sh(f"ip link add eth0 netns {p}c type veth peer name eth0 netns {p}s")
        for which, own in (("c", VETH_CLIENT), ("s", SERVER)):
            self._address(which, "eth0", own)

    def _build_wires(self) -> None:
        self._start_wire("c:eth0", "m:left", self.net.client_wire)
        self._start_wire("m:right", "s:eth0", self.net.server_wire)
        self._sysctl(
            "m",
            "net.ipv4.ip_forward=1",
            "net.ipv6.conf.all.forwarding=1",
            "net.ipv4.conf.all.send_redirects=0",
        )
        for which, name, own, neighbour in (
            ("c", "eth0", CLIENT, CLIENT_ROUTER),
            ("m", "left", CLIENT_ROUTER, CLIENT),
            ("m", "right", SERVER_ROUTER, SERVER),
            ("s", "eth0", SERVER, SERVER_ROUTER),
        ):
            self._address(which, name, own, neighbour)
            if which != "m":
                self._default_route(which, name, neighbour)

    def _build_stack(self, which: str, stack: Stack) -> None:
        forward = ("net.ipv4.ip_forward=1", "net.ipv6.conf.default.disable_ipv6=1")
        self._sysctl(which, *forward)
        self._inside(which, f"ip tuntap add dev {STACK_INTERFACE} mode tun")
        self._ip(which, f"addr add {stack.kernel}/24 dev {STACK_INTERFACE}")
        self._ip(which, f"link set {STACK_INTERFACE} up")
        network = f"{stack.own.rpartition('.')[0]}.0/24"
        if self.net.kind == "wire":
            self._ip("m", f"route add {network} via {stack.wire}")
        else:
            self._ip("s" if which == "c" else "c", f"route add {network} via {stack.veth}")

    def _start_wire(self, left: str, right: str, own: str) -> None:
        there, back = (ms / 2 * 1000 for ms in self.net.one_way_ms)  # two wires share it
        options = f"--delay {there},{back} --seed {len(self.wires) + 1} {self.net.wire} {own}"
        ends = (self.prefix + left, self.prefix + right)
        command = [*AT_ONCE, str(tool("wire")), *options.split(), *ends]
        wire = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.wires.append(wire)
        is_ready(wire)

    def _address(self, which: str, name: str, own: str, neighbour: str | None = None) -> None:
        if not self.net.ipv6:
            self._sysctl(which, f"net.ipv6.conf.{name}.disable_ipv6=1")
        ethernet = "--tun" not in self.net.wire
        if ethernet:
            self._ip(which, f"link set {name} address {self._mac(own)}")
        self._ip(which, f"addr add {own}/24 dev {name}")
        if self.net.ipv6:
            self._ip(which, f"addr add {self._six(own)}/64 dev {name} nodad")
        self._ip(which, f"link set {name} up")
        if neighbour and ethernet:
            mac = self._mac(neighbour)
            for address in (neighbour, *([self._six(neighbour)] if self.net.ipv6 else [])):
                self._ip(which, f"neigh replace {address} dev {name} lladdr {mac} nud permanent")

    def _default_route(self, which: str, name: str, router: str) -> None:
        quickack = " quickack 1" if which == "c" and self.net.client_quickack else ""
        self._ip(which, f"route add default via {router} dev {name}{quickack}")
        if self.net.ipv6:
            self._ip(which, f"-6 route add default via {self._six(router)} dev {name}")

    @staticmethod
    def _mac(address: str) -> str:
        return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))

    # -- what runs in it --------------------------------------------------------------------------

    def start(self, which: str, *command: str, **options: Any) -> Process:  # noqa: ANN401
        """Start a program in the namespace c, m or s; the options are those of Popen."""
        words = ["ip", "netns", "exec", self.namespace(which), *command]
        process = subprocess.Popen(words, text=True, **options)
        self.processes.append(process)
        return process

    def start_ready(self, which: str, *command: str) -> Process:
        """Start a program of the lab, and return once it says that it is ready."""
        process = self.start(which, *command, stdout=subprocess.PIPE)
        is_ready(process)
        return process

    def wait_for_listener(self, which: str, port: int) -> None:
        """Return once somebody listens there."""
        command = f"ip netns exec {self.namespace(which)} ss -Hltn sport = :{port}"
        for _ in range(200):
            if sh(command, check=False):
                return
            time.sleep(0.1)
        raise RuntimeError(f"nobody listens on {port}")

    def capture(self, point: str, path: Path, *options: str, interface: str = "") -> Process:
        """Start a capture at a point; the last one of its options is a filter."""
        which, own_interface = self.net.points()[point]
        return self.capture_at(which, interface or own_interface, path, *options)

    def capture_at(self, which: str, interface: str, path: Path, *options: str) -> Process:
        """Start tcpdump in a namespace, for a .pcapng file dumpcap; return once it listens."""
        at = ("-i", interface, "-s", str(SNAP_LENGTH), "-w", str(path))
        # A busy machine must not lose frames: a buffer of 128 MiB.
        command = ["tcpdump", "--immediate-mode", "-B", "131072", "-Z", "root", *at, *options]
        sign = "listening on"
        if path.suffix == ".pcapng":
            command, sign = ["dumpcap", "-q", "-n", *at, "-f", *options], "File:"
        process = self.start(which, *command, stderr=subprocess.PIPE)
        assert process.stderr is not None
        while sign not in (line := process.stderr.readline()):
            if not line:
                raise RuntimeError(f"{' '.join(command)} did not start")
        return process

    @staticmethod
    def finish(captures: list[Process], linger_s: float = 0.3) -> None:
        """Let the last packets arrive, then end the captures."""
        time.sleep(linger_s)
        for process in captures:
            process.send_signal(signal.SIGINT)
        for process in captures:
            process.communicate()


def is_ready(process: Process) -> None:
    """Return once the program says so."""
    if process.stdout is None or process.stdout.readline() != "ready\n":
        raise RuntimeError(f"{process.args!r} did not start")
