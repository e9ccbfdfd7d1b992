"""Where the hops of a chain run: hosts a and b of a Network, or containers on a bridge.

    one host, or two with veth or wires between   (Network; host a is its client, b its server)
    c0 --- c1 --- c2 ... on the bridge br0 of a host of their own   (Containers)

Every host is captured with '-i any', since a leg of the chain may run on its loopback
interface; one host alone, on 'lo'.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from net import Net
from network import CLIENT, Network, sh

BRIDGE = "br0"


class Hosts(Network):
    """One host, or two with something between."""

    @property
    def hosts(self) -> str:
        """A letter for each host."""
        return "a" if self.net.kind == "loopback" else "ab"

    def where(self, host: str) -> str:
        """The letter of a host's namespace."""
        return {"a": "c", "b": "s"}[host]

    def address(self, host: str, seen_from: str) -> str:
        """Where one host finds another, or itself."""
        if host == seen_from:
            return "127.0.0.1"
        if host == "b":
            return self.server_address
        return CLIENT if self.net.kind == "wire" else "10.10.2.1"

    def views(self) -> dict[str, tuple[str, str]]:
        """The captures: name -> (namespace, interface); at every host, and 'middle' between."""
        if self.net.kind == "loopback":
            return {"a": ("c", "lo")}
        ends = {"a": ("c", "any"), "b": ("s", "any")}
        return ends | ({"middle": ("m", "left")} if self.net.kind == "wire" else {})

    def start_view(self, name: str, path: Path) -> subprocess.Popen[str]:
        """Start one of the captures and return once it is listening."""
        which, interface = self.views()[name]
        options = ("-i", interface, "--immediate-mode", "-B", "65536", "-s", "96", "-Z", "root")
        command = ("tcpdump", *options, "-w", str(path), "tcp")
        return self._start_capture(which, name, command, "listening on")


class Containers(Hosts):
    """A network namespace for each hop, and a host's bridge that joins them."""

    def __init__(self, wire: Path, log: Path, count: int) -> None:
        self.count = count
        super().__init__(Net("veth"), wire, log)

    @property
    def hosts(self) -> str:
        """A letter for each host."""
        return "abcdefg"[: self.count]

    def where(self, host: str) -> str:
        """The letter of a host's namespace."""
        return host

    def address(self, host: str, seen_from: str) -> str:
        """Where one host finds another, or itself."""
        return "127.0.0.1" if host == seen_from else self._own(host)

    def views(self) -> dict[str, tuple[str, str]]:
        """The captures: at every container, and on the bridge and any interface of the host."""
        return {h: (h, "any") for h in self.hosts} | {"bridge": ("m", BRIDGE), "any": ("m", "any")}

    @staticmethod
    def _own(host: str) -> str:
        return f"10.10.4.{ord(host) - ord('a') + 2}"

    def _remove_namespaces(self) -> None:
        for which in "m" + self.hosts:
            sh(f"ip netns del {self.prefix}{which}", check=False)

    def namespace(self, which: str) -> str:
        """Full name of a namespace."""
        return self.prefix + which

    def _build(self) -> None:
        for which in "m" + self.hosts:
            sh(f"ip netns add {self.prefix}{which}")
            self._ip(which, "link set lo up")
        self._ip("m", f"link add {BRIDGE} type bridge")
        self._ip("m", f"link set {BRIDGE} up")
        for host in self.hosts:
            ends = f"veth{host} netns {self.prefix}m type veth peer name eth0 netns"
            sh(f"ip link add {ends} {self.prefix}{host}")
            self._ip("m", f"link set veth{host} master {BRIDGE} up")
            self._address(host, "eth0", self._own(host))
