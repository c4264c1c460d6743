"""A real Slurm on this machine: munge, a controller and two nodes, each the one node of a partition."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
PARTITIONS = ("a100", "h100")


def why_absent() -> str | None:
    """Why no cluster can be started here; None where one can."""
    found = [name for name in PROGRAMS if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if found:
        return f"not installed: {', '.join(found)} (apt-get install slurm-wlm munge)"
    return None if os.geteuid() == 0 else "only root can start Slurm's daemons here"


def _port() -> int:
    """One that is hardly taken; tests may not open a socket to see."""
    return random.randint(20_000, 32_000)


class Cluster:
    """Starts in a folder, tells its configuration, and leaves nothing running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        for name in ("state", "spool-a100", "spool-h100", "munge"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        where = self.folder / "munge"
        self._daemon(
            "/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}", f"--socket={where}/socket",
            f"--pid-file={where}/pid", f"--log-file={where}/log", f"--seed-file={where}/seed",
        )  # fmt: skip
        self._until((where / "socket").exists, "munge")
        self.conf.write_text(self._configuration(), encoding="utf-8")
        os.environ["SLURM_CONF"] = str(self.conf)
        self._daemon("/usr/sbin/slurmctld", "-D", "-c", "-f", str(self.conf))
        for name in PARTITIONS:
            self._daemon("/usr/sbin/slurmd", "-D", "-N", name, "-f", str(self.conf))
        self._until(lambda: _output("sinfo", "-h", "-N", "-o", "%T").split() == ["idle", "idle"], "idle nodes")

    def _configuration(self) -> str:
        host = socket.gethostname().partition(".")[0]
        nodes = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={_port()} CPUs=1 RealMemory=500 State=UNKNOWN"
            for name in PARTITIONS
        ]
        partitions = [f"PartitionName={name} Nodes={name} MaxTime=60 State=UP" for name in PARTITIONS]
        settings = {
            "ClusterName": "breakeven", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmctldPort": _port(),
            "AuthType": "auth/munge", "AuthInfo": f"socket={self.folder}/munge/socket", "CredType": "cred/munge",
            "SlurmUser": "root", "SlurmdUser": "root", "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": f"{self.folder}/spool-%n", "SlurmctldPidFile": f"{self.folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/slurmd-%n.pid", "SlurmctldLogFile": f"{self.folder}/slurmctld.log",
            "SlurmdLogFile": f"{self.folder}/slurmd-%n.log", "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none", "SwitchType": "switch/none", "MpiDefault": "none",
            "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core", "ReturnToService": 2,
            "SchedulerParameters": "bf_interval=1,sched_interval=1,batch_sched_delay=0", "KillWait": 12,
            "AccountingStorageType": "accounting_storage/none", "JobAcctGatherType": "jobacct_gather/none",
            "SlurmdParameters": "config_overrides",
        }  # fmt: skip
        return "\n".join([*(f"{name}={value}" for name, value in settings.items()), *nodes, *partitions]) + "\n"

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{Path(command[0]).name}-{len(self.processes)}.out").open("wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

    def _until(self, holds: Callable[[], bool], what: str, patience_s: float = 30.0) -> None:
        until = time.monotonic() + patience_s
        while not holds():
            if time.monotonic() > until:
                logs = "\n".join(path.read_text(errors="replace")[-800:] for path in self.folder.glob("*.out"))
                told = f"no {what} within {patience_s:.0f} s:\n{logs}"
                raise TimeoutError(told)
            time.sleep(0.1)

    def stop(self) -> None:
        subprocess.run(["scancel", "--state=PENDING,RUNNING"], check=False, capture_output=True)
        time.sleep(0.3)
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        os.environ.pop("SLURM_CONF", None)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
