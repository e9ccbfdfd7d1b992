"""A fleet over SSH: `cluster.py HEAD HOST...`, a scheduler on HEAD and a worker on each HOST."""

import sys

import nagle_scan
from dask.distributed import Client, SSHCluster

if __name__ == "__main__":
    workers = {"nthreads": 1, "n_workers": 1}
    with SSHCluster(sys.argv[1:], worker_options=workers) as cluster, Client(cluster) as client:
        client.wait_for_workers(len(sys.argv) - 2)
        fleet = nagle_scan.scan_fleet(
            "/var/captures/**/*.pcap*", "fleet", client=client, on_hosts=True, progress=True
        )
        print(fleet.services.head())
