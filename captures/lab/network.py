"""Networks to capture in: namespaces, a wire with delay or none, and tcpdump at every point.

    client --wire-- router --wire-- server     (a delay: Net(rtt_ms=26))
    client --------- veth --------- server     (Net('veth'))
    ... with a stack in user space behind an end (Net(stacks=...), user_stacks.py)
    one namespace, interface lo                (Net('loopback'))

Each case gets fresh namespaces, so no cached route metrics pass from one to the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

import user_stacks
from net import Net

CLIENT, SERVER, CLIENT_ROUTER, SERVER_ROUTER = "10.10.1.2", "10.10.2.2", "10.10.1.1", "10.10.2.1"
SIX = {"10.10.1.": "fd00:1::", "10.10.2.": "fd00:2::", "10.10.3.": "fd00:3::"}


def sh(command: str, check: bool = True) -> str:
    """Standard output of a command without quotes."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """Namespaces with a Net between them, for the length of a 'with' block."""

    def __init__(self, net: Net, wire: Path, log: Path) -> None:
        self.net, self.wire_program, self.log_path = net, wire, log
        self.prefix = f"lab{os.getpid()}"
        self.processes: list[subprocess.Popen[str]] = []
        self.wires: list[subprocess.Popen[str]] = []

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
            self.log_path.write_text(
                "".join(
                    f"{name} {line}\n"
                    for name, wire in zip(("client-side", "server-side"), self.wires, strict=False)
                    for line in wire.communicate()[0].splitlines()
                )
            )
        self._remove_namespaces()

    # -- addresses -------------------------------------------------------------

    @property
    def server_address(self) -> str:
        """Where the client finds the server."""
        if self.net.kind == "loopback":
            return "::1" if self.net.ipv6 else "127.0.0.1"
        if self.net.has_stack("s"):
            return user_stacks.ADDRESSES["s"].own
        return self._six(SERVER) if self.net.ipv6 else SERVER

    @staticmethod
    def _six(address: str) -> str:
        network, host = address[: address.rindex(".") + 1], address[address.rindex(".") + 1 :]
        return SIX[network] + host

    def namespace(self, which: str) -> str:
        """Full name of the namespace c, m or s."""
        return f"{self.prefix}{'c' if self.net.kind == 'loopback' else which}"

    # -- building --------------------------------------------------------------

    def _build(self) -> None:
        for which in self._used():
            sh(f"ip netns add {self.prefix}{which}")
            self._ip(which, "link set lo up")
            self._sysctl(which, *self.net.sysctls)
        if self.net.kind == "veth":
            self._build_veth()
        elif self.net.kind == "wire":
            self._build_wires()
        for which, command in user_stacks.commands(self.net):
            self._inside(which, command)
        for _ in range(self.net.busy):
            self.start(self._used()[-1], "sh", "-c", "while :; do :; done")

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

    def _build_veth(self) -> None:
        p = self.prefix
        sh(f"ip link add eth0 netns {p}c type veth peer name eth0 netns {p}s")
        for which, own in (("c", "10.10.2.1"), ("s", SERVER)):
            self._address(which, "eth0", own)
            if self.net.gro_off:
                self._inside(which, "ethtool -K eth0 tso off gso off gro off")

    def _build_wires(self) -> None:
        net = self.net
        self._start_wire("c:eth0", "m:left", net.access.options() + self._losses("client"))
        nat = f" --nat {CLIENT},{SERVER_ROUTER}" if net.nat else ""
        self._start_wire("m:right", "s:eth0", self._losses("server") + nat)
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

    def _losses(self, side: str) -> str:
        net = self.net
        if net.lossy_wire != side:
            return ""
        there, back = net.drop_every
        return f" --loss {net.loss},{net.loss} --drop {there},{back} --dup {net.dup},{net.dup}"

    def _start_wire(self, left: str, right: str, special: str) -> None:
        net = self.net
        there, back = (ms / 2 * 1000 for ms in net.one_way_ms)  # two wires share it
        jitter = [net.jitter_ms * 1000 / 2 * share for share in net.jitter.ways]
        options = (
            f"--delay {there},{back} --jitter {jitter[0]},{jitter[1]} --shape {net.jitter.shape}"
            f"{special} --seed {len(self.wires) + 1 + 2 * net.seed}"
            f"{' --offload' if net.offload else ''}{' --tun' if net.tun else ''}"
        )
        for after_ms, extra_ms in net.changes:
            options += f" --change {after_ms}:{extra_ms / 4 * 1000}"  # two wires, two ways
        ends = (self.prefix + left, self.prefix + right)
        # What keeps it off the processor would be a delay of the network.
        command = ["chrt", "--fifo", "5", str(self.wire_program), *options.split(), *ends]
        wire = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.wires.append(wire)
        if wire.stdout is None or wire.stdout.readline() != "ready\n":
            raise RuntimeError("the wire did not start")

    def _address(self, which: str, name: str, own: str, neighbour: str | None = None) -> None:
        if not self.net.ipv6:
            self._sysctl(which, f"net.ipv6.conf.{name}.disable_ipv6=1")
        ethernet = not self.net.tun or self.net.kind == "veth"
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

    # -- what runs in it -------------------------------------------------------

    def start(
        self,
        which: str,
        *command: str,
        cwd: Path | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        start_new_session: bool = False,
    ) -> subprocess.Popen[str]:
        """Start a program in the namespace c, m or s."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace(which), *command],
            cwd=cwd,
            stdout=stdout,
            stderr=stderr,
            start_new_session=start_new_session,
            text=True,
        )
        self.processes.append(process)
        return process

    def capture(
        self,
        point: str,
        path: Path,
        tcpdump: tuple[str, ...] = (),
        interface: str = "",
        only: str = "tcp",
    ) -> subprocess.Popen[str]:
        """Start tcpdump at a point and return once it is listening."""
        which, own_interface = self.net.points()[point]
        options = ("-i", interface or own_interface, "--immediate-mode", "-Z", "root")
        command = ("tcpdump", *options, "-w", str(path), *tcpdump, only)
        return self._start_capture(which, point, command, "listening on")

    def capture_pcapng(self, point: str, path: Path) -> subprocess.Popen[str]:
        """Start dumpcap at a point and return once it is writing."""
        which, interface = self.net.points()[point]
        command = ("dumpcap", "-q", "-n", "-i", interface, "-f", "tcp", "-w", str(path))
        return self._start_capture(which, point, command, "File:")

    def _start_capture(
        self, which: str, point: str, command: tuple[str, ...], sign: str
    ) -> subprocess.Popen[str]:
        process = self.start(which, *command, stderr=subprocess.PIPE)
        assert process.stderr is not None
        while sign not in (line := process.stderr.readline()):
            if not line:
                raise RuntimeError(f"{command[0]} did not start at {point}")
        return process

    @staticmethod
    def finish(captures: list[subprocess.Popen[str]], linger_s: float = 0.3) -> None:
        """Let the last packets arrive, then end the captures."""
        time.sleep(linger_s)
        for process in captures:
            process.send_signal(signal.SIGINT)
        for process in captures:
            process.communicate()
