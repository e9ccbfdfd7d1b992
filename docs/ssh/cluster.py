"""A fleet over SSH: `cluster.py HEAD HOST...`, a scheduler on HEAD and a worker on each HOST."""

import sys

import nagle_scan
from dask.distributed import Client, SSHCluster

if __name__ == "__main__":
    # HTTP is without TLS: on this host only. With a limit a worker pauses at 80 % of it.
    head = {"dashboard_address": "127.0.0.1:8787"}
    worker = {"nthreads": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        SSHCluster(sys.argv[1:], scheduler_options=head, worker_options=worker) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(len(sys.argv) - 2)
        fleet = nagle_scan.scan_fleet(
            "/var/captures/**/*.pcap*", "fleet", client=client, on_hosts=True, progress=True
        )
        print(fleet.services.head())
