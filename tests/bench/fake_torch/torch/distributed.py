"""No NCCL where there is no GPU."""


def is_available() -> bool:
    return True


def is_nccl_available() -> bool:
    return False
