"""The texts by which a failed training tells why, as its launchers, libraries and kernels write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "out-of-memory", "gpu-error", "communication-timeout", "loss-not-finite", "loss-diverged", "data-error",
    "disk-full", "preemption", "time-limit", "interrupted", "host-lost", "killed", "crashed", "program-error",
    "unknown",
]  # fmt: skip
Weight = Literal["cause", "error", "timeout", "consequence"]
"""How near a text is to the cause: an NCCL timeout on one rank follows from an error on another, rarely the reverse."""
XID_MEANINGS = {
    13: "xid-engine-exception", 31: "xid-page-fault", 43: "xid-stopped", 45: "xid-cleanup", 48: "xid-double-bit",
    63: "xid-row-remapped", 64: "xid-remap-failed", 74: "xid-nvlink", 79: "xid-off-the-bus", 92: "xid-single-bits",
    94: "xid-contained", 95: "xid-uncontained", 119: "xid-no-answer", 120: "xid-no-answer",
}  # fmt: skip
"""What NVIDIA's driver means by the number of an Xid. Source: NVIDIA, Xid errors, docs.nvidia.com/deploy/xid-errors."""
XIDS_SURVIVED = {43, 45, 63, 92}
"""Xids that tell of a repair, or of a process that ended for another reason."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text that tells a kind of failure. hint : a lower-case part of it, looked for first; detail : what it adds."""

    kind: Kind
    weight: Weight
    hint: str
    text: re.Pattern[str]
    detail: tuple[str, str] | None = None


def _pattern(kind: Kind, weight: Weight, hint: str, text: str, detail: tuple[str, str] | None = None) -> Pattern:
    return Pattern(kind, weight, hint, re.compile(text), detail)


_GPU, _HOST, _SHARED = ("memory", "gpu"), ("memory", "host"), ("memory", "shared")

PATTERNS: tuple[Pattern, ...] = (
    # memory
    _pattern("out-of-memory", "cause", "outofmemoryerror", r"^(?:torch\.|torch\.cuda\.|[\w.]{0,60}\.)?OutOfMemoryError\b", _GPU),
    _pattern("out-of-memory", "cause", "out of memory", r"\b(?:CUDA|HIP|XPU)(?: error:)? out of memory\b", _GPU),
    _pattern("out-of-memory", "cause", "out of memory", r"\b(?:[Cc]uda fail(?:ed with error|ure) 2\b|cudaErrorMemoryAllocation)", _GPU),
    _pattern("out-of-memory", "cause", "cuda failure", r"\bCuda failure (?:\d{1,4} )?'out of memory'", _GPU),
    _pattern("out-of-memory", "cause", "resource_exhausted", r"\bRESOURCE_EXHAUSTED: Out of memory\b", _GPU),
    _pattern("out-of-memory", "cause", "alloc_failed", r"\b(?:CUBLAS|CUDNN|CUSOLVER)_STATUS_ALLOC_FAILED\b", _GPU),
    _pattern("out-of-memory", "cause", "memoryerror", r"^(?:[\w.]{0,60}\.)?_?(?:Array)?MemoryError(?::|$)", _HOST),
    _pattern("out-of-memory", "cause", "allocate memory", r"\bDefaultCPUAllocator: (?:can't allocate|not enough) memory\b|\[Errno 12\] Cannot allocate memory", _HOST),
    _pattern("out-of-memory", "cause", "not enough memory", r"\bDefaultCPUAllocator: not enough memory\b", _HOST),
    _pattern("out-of-memory", "cause", "out of memory: kill", r"\b(?:[Oo]ut of memory|Memory cgroup out of memory): Kill(?:ed)? process \d", _HOST),
    _pattern("out-of-memory", "cause", "oom", r"\boom-kill:constraint=|\binvoked oom-killer\b|\bDetected \d{1,6} oom[-_ ]kill events?\b|\bOOMKilled\b", _HOST),
    _pattern("out-of-memory", "cause", "out of memory", r"^(?:srun: )?(?:error: )?[\w.-]{1,80}: tasks? [\d,-]{1,80}: Out Of Memory\b", _HOST),
    _pattern("out-of-memory", "cause", "killed by signal: killed", r"\bDataLoader worker \(pid\(?s?\)? [\d, ]{1,80}\) is killed by signal: Killed\b", _HOST),
    _pattern("out-of-memory", "cause", "shared memory", r"\bworkers are out of shared memory\b", _SHARED),
    # disks
    _pattern("disk-full", "cause", "[errno ", r"\[Errno (?:28|122)\]"),
    _pattern("disk-full", "cause", "no space left", r"\bNo space left on device\b"),
    _pattern("disk-full", "cause", "quota", r"\b[Dd]isk quota exceeded\b"),
    _pattern("disk-full", "cause", "enospc", r"\bENOSPC\b"),
    # GPUs
    _pattern("gpu-error", "cause", "ecc error", r"\b[Uu]ncorrectable (?:volatile )?ECC error\b"),
    _pattern("gpu-error", "cause", "gpu is lost", r"\bGPU is lost\b"),
    _pattern("gpu-error", "cause", "gpu_is_lost", r"\bERROR_GPU_IS_LOST\b"),
    _pattern("gpu-error", "cause", "off the bus", r"\bfall?en off (?:of )?the bus\b|\bfell off the bus\b"),
    _pattern("gpu-error", "cause", "error: ", r"\b(?:CUDA|HIP)(?: driver)? error: (?!out of memory|device-side assert|invalid device ordinal)"),
    _pattern("gpu-error", "cause", "cuda runtime error", r"\bcuda runtime error \((?!2\))\d{1,4}\)"),
    _pattern("gpu-error", "error", "_status_", r"\b(?:CUBLAS|CUDNN|CUSOLVER)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)\b"),
    _pattern("gpu-error", "error", "cuda failure", r"\bCuda failure (?:\d{1,4} )?'"),
    # ends that others decided
    _pattern("preemption", "cause", "due to preemption", r"\bDUE TO PREEMPTION\b"),
    _pattern("preemption", "cause", "preempted", r"\b(?:instance|node|job|cluster|vm|VM|machine|pod|worker|task)s? .{0,60}?\b(?:is|was|been|being|got) preempted\b"),
    _pattern("preemption", "cause", "preempted", r"\bcompute\.instances\.preempted\b|\binstance/preempted\b.{0,20}\bTRUE\b"),
    _pattern("preemption", "cause", "spot", r"\b[Ss]pot (?:[Ii]nstance )?(?:[Ii]nterruption|[Tt]ermination) (?:notice|payload|warning)\b.{0,40}\b(?:received|detected)\b|\bEC2 Spot Instance Interruption Warning\b"),
    _pattern("preemption", "cause", "interrupted in", r"\b[Ii]nstance is going to be interrupted in\b"),
    _pattern("preemption", "cause", "eventtype", r"\"EventType\": ?\"Preempt\""),
    _pattern("time-limit", "cause", "time limit", r"\bDUE TO TIME LIMIT\b"),
    _pattern("time-limit", "cause", "walltime", r"\bjob killed: walltime \d+ exceeded limit\b"),
    _pattern("time-limit", "cause", "runlimit", r"\bTERM_RUNLIMIT\b"),
    _pattern("preemption", "error", "death signal", r"\bReceived (?:15|Signals\.SIGTERM) death signal\b"),
    _pattern("preemption", "error", "got signal: 15", r"\bSignalException: Process \d+ got signal: 15\b"),
    _pattern("interrupted", "error", "death signal", r"\bReceived (?:1|2|Signals\.SIGINT|Signals\.SIGHUP) death signal\b"),
    _pattern("interrupted", "error", "got signal", r"\bSignalException: Process \d+ got signal: [12]\b"),
    _pattern("interrupted", "error", "keyboardinterrupt", r"^KeyboardInterrupt\b"),
    _pattern("preemption", "cause", "no_capacity", r"(?i)\binterrupted_by_no_capacity\b"),
    _pattern("interrupted", "error", "cancelled at", r"\*\*\* JOB \S{1,40} ON \S{1,80} CANCELLED AT \S{1,40} \*\*\*"),
    # losses
    _pattern("loss-not-finite", "cause", "nan", r"\bfound NaN in local (?:forward loss|grad norm)|\b[Uu]nexpected result nan\b"),
    _pattern("loss-not-finite", "cause", "loss is", r"\b[Ll]oss is (?:nan|NaN|inf|infinite|not finite)\b"),
    _pattern("loss-not-finite", "cause", "nan or inf", r"\bloss returned in `?training_step`? is nan or inf\b"),
    _pattern("loss-not-finite", "cause", "loss scale already", r"\b[Cc]urrent loss scale already at minimum\b"),
    # data
    _pattern("data-error", "cause", "dataset", r"^(?:datasets\.(?:exceptions|builder)\.)\w{1,60}\b|^DatasetGenerationError\b"),
    _pattern("data-error", "cause", "jsondecodeerror", r"^(?:[\w.]{0,60}\.)?JSONDecodeError\b"),
    _pattern("data-error", "cause", "arrow", r"^pyarrow\.lib\.Arrow(?:Invalid|TypeError|IOError)\b"),
    _pattern("data-error", "cause", "filenotfounderror", r"^FileNotFoundError\b"),
    _pattern("data-error", "cause", "unicodedecodeerror", r"^UnicodeDecodeError\b"),
    _pattern("data-error", "cause", "load tokenizer", r"^OSError: Can't load tokenizer for\b"),
    _pattern("data-error", "cause", "huggingface_hub", r"^huggingface_hub\.(?:errors|utils\._errors)\.\w{1,60}\b"),
    _pattern("data-error", "cause", "readerror", r"^(?:tarfile\.ReadError|zipfile\.BadZipFile|gzip\.BadGzipFile)\b"),
    # communication
    _pattern("communication-timeout", "timeout", "watchdog", r"\bWatchdog caught collective operation timeout\b|\bNCCL watchdog thread terminated\b"),
    _pattern("communication-timeout", "timeout", "nccl operations", r"\bSome NCCL operations have failed or timed out\b"),
    _pattern("communication-timeout", "timeout", "nccl", r"\bnccl(?:System|Remote|Internal)Error\b(?=:)"),
    _pattern("communication-timeout", "timeout", "distbackenderror", r"^torch\.distributed\.DistBackendError\b"),
    _pattern("communication-timeout", "timeout", "timed out", r"\bTimed out (?:waiting \d+ms for (?:recv|send)|after \d+ seconds waiting for clients)\b|\bclient socket has timed out after\b"),
    _pattern("communication-timeout", "timeout", "gloo", r"\bgloo/transport/.{1,120}\b(?:[Cc]onnection (?:closed|reset) by peer|[Tt]imed out)\b"),
    _pattern("communication-timeout", "timeout", "diststore", r"\bDistStoreError\b|\bRendezvousTimeoutError\b"),
    # processes
    _pattern("crashed", "error", "fault", r"^Fatal Python error: (?:Segmentation fault|Bus error|Illegal instruction|Floating point exception)\b|^Segmentation fault\b"),
    _pattern("crashed", "error", "sig", r"\bSignal (?:11 \(SIGSEGV\)|7 \(SIGBUS\)|4 \(SIGILL\)|8 \(SIGFPE\)) received by PID\b|\bdied with <Signals\.SIG(?:SEGV|BUS|ILL|FPE)"),
    _pattern("crashed", "error", "code", r"\b(?:failed \(exitcode:|exits with return code =|terminated with code) -(?:11|7|4|8)\b"),
    _pattern("crashed", "consequence", "abort", r"^Fatal Python error: Aborted\b|\bSignal 6 \(SIGABRT\) received by PID\b|\bdied with <Signals\.SIGABRT"),
    _pattern("killed", "consequence", "sigkill", r"\bSignal 9 \(SIGKILL\) received by PID\b|\bdied with <Signals\.SIGKILL"),
    _pattern("killed", "consequence", "code", r"\b(?:failed \(exitcode:|exits with return code =|terminated with code) -9\b"),
)  # fmt: skip

XID = re.compile(r"\bXid \(PCI:[0-9a-fA-F:.]{1,20}\): (\d{1,4})\b|\bXID (\d{1,4})\b")
LAUNCHERS = re.compile(
    r"^(?:torch\.distributed\.elastic\.[\w.]{1,80}\.)?(?:ChildFailedError|SignalException|RendezvousClosedError"
    r"|RendezvousConnectionError)\b|^subprocess\.CalledProcessError\b|^SystemExit\b"
    r"|^torch\.multiprocessing\.spawn\.ProcessExitedException\b"
)
"""Exceptions of what started the training, which only repeat that it failed."""
EXCEPTION = re.compile(r"^((?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{1,60}|error|timeout))(?::(?: |$)|$)")
"""The last line of a traceback."""
BARE = ("SyntaxError: ", "IndentationError: ", "TabError: ")
"""Exceptions that Python prints without a traceback."""
