from __future__ import annotations

import random
import time
from math import exp, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.bench.failures import Failure, find_failures, first_not_finite, is_diverged, payload_of, success_rate
from breakeven.errors import InputError
from breakeven.reporting.messages import CODES

TRACEBACK = ["Traceback (most recent call last):", '  File "/app/train.py", line 80, in <module>', "    main()"]
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 132.00 MiB. GPU 3 has a total capacity of 79.10 GiB of which 98.00 MiB is free."
WATCHDOG = "[rank3]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
SIBLINGS = [
    "W0227 17:39:41.936000 293814 site-packages/torch/distributed/elastic/multiprocessing/api.py:766] Closing process 293866 via signal SIGTERM",
    "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 24901 closing signal SIGTERM",
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 24905) of binary: /opt/conda/bin/python",
    *TRACEBACK,
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
]


def step(number: int, loss: float = 7.5) -> str:
    return f"[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: {number}  loss:  {loss}  memory:  9.46GiB(64.99%)  tps: 7,282  mfu: 0.17%"


STEPS = [step(number, 9 - number / 10) for number in range(1, 6)]


def kinds(lines: list[str], exit_status: int | None = 1, **more: object) -> list[str]:
    return [one.kind for one in find_failures(lines, exit_status=exit_status, **more)]  # type: ignore[arg-type]


def raised(line: str, rank: int | None = None) -> list[str]:
    before = "" if rank is None else f"[rank{rank}]: "
    return [before + one for one in [*TRACEBACK, line]]


REAL = {
    "out-of-memory": [
        OOM,
        "RuntimeError: CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity; 8.77 GiB already allocated; 19.75 MiB free; 13.71 GiB reserved in total by PyTorch)",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB.",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuda failed with error 2 out of memory. use CUDA_LAUNCH_BLOCKING=1 to get correct traceback.",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123 bytes.",
        "ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 2 'out of memory'",
        "Cuda failure 'out of memory'",
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 37.3 GiB for an array with shape (100000, 50000)",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 68719476736 bytes.",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.",
        "srun: error: sdumont6156: task 0: Out Of Memory",
        "[12345.678] Out of memory: Killed process 4242 (python) total-vm:123kB, anon-rss:456kB",
        "[12345.678] Memory cgroup out of memory: Killed process 4242 (python)",
        "RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed. ",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm). It is possible that dataloader's workers are out of shared memory.",
    ],
    "gpu-error": [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at /pytorch/aten/src/THC/THCCachingHostAllocator.cpp:265",
        "RuntimeError: HIP error: unspecified launch failure",
        "NVRM: Xid (PCI:0000:44:00): 79, pid=1234, GPU has fallen off the bus.",
        "Cuda failure 999 'unknown error'",
        "NVRM: fallen off the bus and is not responding to commands.",
        "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU",
    ],
    "communication-timeout": [
        WATCHDOG,
        "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=469508, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802212 milliseconds before timing out.",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:51836",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ",
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5",
        "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.",
    ],
    "loss-not-finite": [
        "RuntimeError: Rank 0, node n1, device 0, iteration 5: Unexpected result nan (message='found NaN in local forward loss calculation')",
        "ValueError: Loss is nan, stopping training",
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
    ],
    "data-error": [
        "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset",
        "json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 8779)",
        "pyarrow.lib.ArrowInvalid: JSON parse error: Column() changed from object to array in row 0",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.jsonl'",
        "OSError: Can't load tokenizer for 'meta-llama/Llama-3.1-8B'.",
    ],
    "disk-full": [
        "OSError: [Errno 28] No space left on device: '/ckpt/model.safetensors'",
        "OSError: [Errno 122] Disk quota exceeded",
        "OSError: [Errno 28] Aucun espace disponible sur le périphérique",
        'safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })',
    ],
    "preemption": [
        "slurmstepd: error: *** JOB 32391783 ON cn119 CANCELLED AT 2021-06-18T13:05:36 DUE TO PREEMPTION ***",
        "submitit WARNING (2022-08-12 02:06:11,453) - Caught signal SIGUSR2 on SERVER_NAME: this job is preempted.",
        '{"level":"warn","time":"2025-03-31T16:32:36Z","message":"Instance is going to be interrupted in 2 minutes. Exiting..."}',
        "W0227 17:39:41.936000 293817 site-packages/torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1359 got signal: 15",
    ],
    "time-limit": ["slurmstepd: error: *** JOB 3884617 ON node023 CANCELLED AT 2018-08-19T16:30:21 DUE TO TIME LIMIT ***"],
    "interrupted": [
        "WARNING:torch.distributed.elastic.agent.server.api:Received 2 death signal, shutting down workers",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 2920830 got signal: 1",
        "slurmstepd: error: *** JOB 3884617 ON node023 CANCELLED AT 2018-08-19T16:30:21 ***",
        "KeyboardInterrupt",
    ],
    "crashed": [
        "Fatal Python error: Segmentation fault",
        "[2023-07-10 04:26:35,999] [ERROR] [launch.py:324:sigkill_handler] ['/venv/bin/python3.10', '-u', 'trainCLM.py', '--local_rank=1'] exits with return code = -11",
        "  traceback : Signal 11 (SIGSEGV) received by PID 6421",
        "E0909 14:03:50.013000 22579342468928 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -11) local_rank: 0 (pid: 2128869) of binary: /opt/python",
    ],
    "killed": [
        "[2024-01-03 10:00:00,123] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python', 'train.py'] exits with return code = -9",
        "[rank: 1] Child process with PID 123 terminated with code -9. Forcefully terminating all other processes to avoid zombies",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 4 (pid: 24905) of binary: /opt/python",
    ],
    "program-error": [
        "ValueError: too many values to unpack (expected 2)",
        "RuntimeError: CUDA error: device-side assert triggered",
        "KeyError: 'text'",
        "AssertionError",
        "SyntaxError: '(' was never closed",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, lines in REAL.items() for line in lines])
def test_what_libraries_and_kernels_say_is_known(kind: str, line: str) -> None:
    for lines in (raised(line), raised(line, rank=3)):
        found = find_failures([*STEPS, *lines], exit_status=1)
        assert [one.kind for one in found] == [kind]
        assert found[0].line == len(STEPS) + 4
        assert found[0].evidence


@pytest.mark.parametrize("line", [line for lines in REAL.values() for line in lines])
def test_the_same_words_in_a_run_that_ended_well_are_no_failure(line: str) -> None:
    assert kinds([*STEPS, *raised(line)], 0, has_end=True) == []
    assert kinds([*STEPS, *raised(line)], 0) == []
    assert kinds([*STEPS, *raised(line)], None, has_end=True) == []


def test_what_training_survived_does_not_count_where_the_end_has_another_reason() -> None:
    survived = ["sample: the machine ran CUDA out of memory", *raised(OOM), *STEPS]
    assert kinds([*survived, *raised("ValueError: no")]) == ["program-error"]
    assert kinds(survived, None, signal_number=11) == ["out-of-memory", "crashed"]
    assert kinds([*raised("ValueError: caught", rank=1), *STEPS, *raised("KeyError: 'x'", rank=2)]) == ["program-error"]


def test_a_line_of_a_step_that_was_under_way_does_not_hide_the_cause() -> None:
    lines = [*STEPS, *raised(OOM, rank=1), step(6), WATCHDOG]
    assert kinds(lines)[0] == "out-of-memory"


def test_a_warning_is_no_evidence() -> None:
    line = "/joblib/_multiprocessing_helpers.py:46: UserWarning: [Errno 28] No space left on device.  joblib will operate in serial mode"
    assert kinds([line, *raised("ValueError: no")]) == ["program-error"]


def test_the_first_cause_comes_first() -> None:
    assert kinds([WATCHDOG, *raised(OOM, rank=1), *SIBLINGS]) == ["out-of-memory", "communication-timeout"]
    assert kinds([WATCHDOG, *raised("ValueError: no", rank=1), *SIBLINGS]) == ["program-error", "communication-timeout"]
    lines = [
        "NVRM: Xid (PCI:0000:44:00): 79, pid=1",
        *raised("RuntimeError: CUDA error: unspecified launch failure"),
        WATCHDOG,
    ]
    assert kinds(lines, 134) == ["gpu-error", "communication-timeout"]
    assert kinds([*raised("ValueError: no", 1), *raised("KeyError: 'x'", 2)]) == ["program-error"]


def test_a_syntax_error_has_no_traceback() -> None:
    found = find_failures(
        ['  File "train.py", line 3', "    def x(", "         ^", "SyntaxError: '(' was never closed"], exit_status=1
    )
    assert [(one.kind, one.line) for one in found] == [("program-error", 4)]


def test_a_signal_that_follows_an_error_is_no_preemption() -> None:
    assert kinds([*raised("ValueError: no", rank=1), *SIBLINGS]) == ["program-error"]
    late = "Received 15 death signal, shutting down workers"
    assert kinds([*raised("ValueError: no"), late])[0] == "program-error"
    assert kinds([WATCHDOG, late])[0] == "communication-timeout"
    assert kinds([late, WATCHDOG])[0] == "preemption"
    assert kinds(raised("ValueError: no"), 143) == ["program-error"]


def test_interleaved_tracebacks_of_several_ranks_are_kept_apart() -> None:
    one, two = raised("ValueError: first", rank=0), raised(OOM, rank=1)
    mixed = [line for pair in zip(two, one, strict=True) for line in pair]
    found = find_failures(mixed, exit_status=1)
    assert [(failure.kind, failure.details.get("rank")) for failure in found] == [
        ("out-of-memory", 1),
        ("program-error", 0),
    ]


def test_the_last_exception_of_a_chain_is_told() -> None:
    chain = [
        *raised("KeyError: 'a'"),
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        *raised("ValueError: b"),
    ]
    found = find_failures(chain, exit_status=1)
    assert [(one.kind, one.evidence, one.details["exception"]) for one in found] == [
        ("program-error", "ValueError: b", "ValueError")
    ]


@pytest.mark.parametrize(
    ("exit_status", "signal_number", "kind", "signal"),
    [
        (137, None, "killed", "SIGKILL"),
        (-9, None, "killed", "SIGKILL"),
        (None, 9, "killed", "SIGKILL"),
        (143, None, "preemption", "SIGTERM"),
        (130, None, "interrupted", "SIGINT"),
        (139, None, "crashed", "SIGSEGV"),
        (-6, None, "crashed", "SIGABRT"),
    ],
)
def test_a_signal_alone_tells(exit_status: int | None, signal_number: int | None, kind: str, signal: str) -> None:
    found = find_failures(STEPS, exit_status=exit_status, signal_number=signal_number)
    assert found == (Failure(kind, details={"signal": signal}),)  # type: ignore[arg-type]


def test_a_kill_with_a_sign_of_memory_is_out_of_memory() -> None:
    assert kinds(STEPS, 137, oom_kills=1) == ["out-of-memory"]
    assert kinds(["slurmstepd: error: Detected 1 oom_kill event in StepId=1.0."], 137) == ["out-of-memory"]


def test_a_host_is_lost_where_nobody_saw_the_end() -> None:
    assert kinds(STEPS, None, has_end=False) == ["host-lost"]
    notice = "Instance is going to be interrupted in 2 minutes. Exiting..."
    assert kinds([*STEPS, notice], None, has_end=False) == ["preemption", "host-lost"]


def test_without_evidence_it_is_unknown() -> None:
    assert find_failures(STEPS, exit_status=1) == (Failure("unknown", details={"exit_status": 1}),)
    assert kinds(STEPS, 255) == ["unknown"]
    assert kinds(STEPS, 0, has_end=False) == ["unknown"]


@pytest.mark.parametrize(
    ("number", "meaning"),
    [(48, "xid-double-bit"), (74, "xid-nvlink"), (94, "xid-contained"), (95, "xid-uncontained"), (999, None)],
)
def test_an_xid_tells_its_meaning(number: int, meaning: str | None) -> None:
    found = find_failures([f"[ 12.3] NVRM: Xid (PCI:0000:44:00): {number}, pid=1"], exit_status=1)[0]
    assert (found.kind, found.details["xid"], found.details.get("meaning")) == ("gpu-error", number, meaning)
    assert meaning is None or meaning in CODES


def test_a_repaired_memory_row_is_not_the_cause() -> None:
    lines = ["NVRM: Xid (PCI:0000:44:00): 63, pid=1, Row Remapper: new row marked", *raised("ValueError: no")]
    assert kinds(lines) == ["program-error", "gpu-error"]


def test_repeated_evidence_is_counted() -> None:
    found = find_failures([WATCHDOG] * 8, exit_status=1)
    assert [(one.line, one.details["count"]) for one in found] == [(1, 8)]


def test_evidence_is_bounded_and_printable() -> None:
    found = find_failures([OOM + "\x1b]0;title\x07" + "x" * 5000], exit_status=1)[0]
    assert len(found.evidence) <= 300
    assert found.evidence.isprintable()


def test_a_loss_that_is_no_number_fails_even_a_run_that_ended() -> None:
    lines = [*STEPS, step(6, nan), step(7, nan)]
    found = find_failures(lines, exit_status=0, has_end=True)
    assert [(one.kind, one.line, one.evidence) for one in found] == [("loss-not-finite", 6, "nan")]
    assert kinds([*STEPS, step(6, nan), step(7, 8.0), step(8, 7.9)], 0) == []
    assert kinds(lines + raised("ValueError: no")) == ["loss-not-finite", "program-error"]


def test_given_losses_are_used() -> None:
    assert kinds([], 0, losses=[2.0, inf]) == ["loss-not-finite"]
    found = find_failures([], exit_status=0, losses=[2.0] * 50 + [9.0] * 50)
    assert [(one.kind, one.details) for one in found] == [("loss-diverged", {"best": 2.0, "last": 9.0})]


def test_a_single_loss_that_scaling_left_out_is_none() -> None:
    assert first_not_finite([1.0, nan, 1.0, inf, nan, 1.0]) is None
    assert first_not_finite([1.0, nan, inf, nan, 1.0]) == 1
    assert first_not_finite([1.0, nan]) == 1
    assert first_not_finite([]) is None


def curve(random_source: random.Random, length: int, floor: float, noise: float) -> list[float]:
    """A loss that falls to a floor, with noise that multiplies."""
    return [
        (floor + (8 - floor) * exp(-6 * place / length)) * exp(random_source.gauss(0, noise)) for place in range(length)
    ]


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("floor", [0.01, 0.5, 2.0])
def test_noisy_curves_that_converge_rarely_alarm(noise: float, floor: float) -> None:
    alarms = 0
    for seed in range(200):
        source = random.Random(seed)
        alarms += is_diverged(curve(source, source.choice([20, 50, 200, 1000]), floor, noise))
    assert alarms <= 2


def test_flat_and_saw_toothed_curves_do_not_alarm() -> None:
    source = random.Random(1)
    assert not any(is_diverged([2 * exp(source.gauss(0, 0.4)) for _ in range(60)]) for _ in range(200))
    epochs = [1.5 - 0.4 * (place // 50) + 0.05 * source.random() for place in range(150)]
    assert not is_diverged(epochs)
    assert not is_diverged([-0.1 + 0.01 * place for place in range(100)])  # not above 0: reinforcement learning
    assert not is_diverged([5.0] * 10 + [9.0] * 9)  # too few


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_curves_that_diverge_are_found(noise: float) -> None:
    found = 0
    for seed in range(100):
        source = random.Random(seed)
        good = curve(source, 200, 2.0, noise)
        found += is_diverged(good + [7.0 * exp(source.gauss(0, noise)) for _ in range(60)])
    assert found >= 98


def test_a_spike_that_recovers_is_no_divergence() -> None:
    source = random.Random(3)
    good = curve(source, 300, 2.0, 0.05)
    assert not is_diverged(good[:200] + [12.0] * 10 + good[200:])


@pytest.mark.parametrize(
    ("line", "payload"),
    [
        ('[rank0]:   File "x.py", line 1', '  File "x.py", line 1'),
        (
            "[2024-02-27T21:35:34.295539Z] fa88a9df || Traceback (most recent call last):",
            "Traceback (most recent call last):",
        ),
        ("0: Fatal Python error: Aborted", "Fatal Python error: Aborted"),
        ("(ActorWorker(train-1) pid=18175, ip=33.199.184.82) ValueError: x", "ValueError: x"),
        ("2023-07-01 16:41:05,669 ValueError: x", "ValueError: x"),
        ("KeyError: 'a'", "KeyError: 'a'"),
        ("", ""),
    ],
)
def test_what_stands_before_a_line_is_taken_off(line: str, payload: str) -> None:
    assert payload_of(line) == payload


@given(
    st.lists(st.one_of(st.text(), st.sampled_from([*STEPS, *SIBLINGS, OOM, WATCHDOG]))),
    st.one_of(st.none(), st.integers(-300, 300)),
    st.sampled_from([None, True, False]),
)
def test_no_lines_break_it(lines: list[str], exit_status: int | None, has_end: bool | None) -> None:
    found = find_failures(lines, exit_status=exit_status, has_end=has_end)
    assert len({one.kind for one in found}) == len(found)
    assert all(one.kind in CODES and one.evidence.isprintable() and len(one.evidence) <= 300 for one in found)
    assert found or exit_status == 0 or (exit_status is None and has_end)


def test_time_grows_with_the_lines_and_no_faster() -> None:
    def seconds(count: int) -> float:
        lines = [*STEPS, *raised("ValueError: no"), WATCHDOG] * (count // 10)
        begin = time.process_time()
        find_failures(lines, exit_status=1)
        return time.process_time() - begin

    small, large = min(seconds(3_000) for _ in range(3)), min(seconds(12_000) for _ in range(2))
    assert large < 10 * small


@pytest.mark.parametrize(
    "piece",
    ["[rank", "0: ", "A.", "Xid (PCI:", "spot instance ", "job ", "gloo/transport/", "Error", "[a] ", "ERROR:"],
    ids=repr,
)
def test_a_huge_line_takes_no_time(piece: str) -> None:
    begin = time.process_time()
    find_failures(["Traceback (most recent call last):", piece * (10_000_000 // len(piece))], exit_status=1)
    assert time.process_time() - begin < 1


def test_a_rate_has_an_interval() -> None:
    none, all_of_them = success_rate(0, 0), success_rate(20, 20)
    assert (none.value, none.low, none.high) == (None, 0.0, 1.0)
    assert all_of_them.value == 1.0
    assert 0.9 < all_of_them.low < 1.0
    assert success_rate(9, 10, level=0.95).low < success_rate(9, 10).low
    for accepted, attempts in ((2, 1), (-1, 1), (0, -1)):
        with pytest.raises(InputError) as caught:
            success_rate(accepted, attempts)
        assert caught.value.code == "out-of-range"
