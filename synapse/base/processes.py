"""Processes that are not children of this one, identified even if a pid is reused."""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal` itself would import `enum`: 5 ms of every start


_PR_SET_PDEATHSIG = 1
_M_ARENA_MAX = -8  # of mallopt
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}  # numbers of the system call
_RESET_ON_FORK = 1
_SHORT_TURN = 100_000  # nanoseconds, the least that the kernel allows
# Where the kernel lets a process sleep that reads a terminal, or waits in select, poll or epoll.
_INPUT_WAITS = (
    "wait_woken",
    "n_tty_read",
    "do_select",
    "poll_schedule_timeout",
    "do_sys_poll",
    "do_poll",
    "ep_poll",
    "do_epoll_wait",
)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the command name; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()


def start_time(pid: int) -> str:
    """With the pid it identifies a process; empty where the system has no /proc."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def has_terminal(pid: int) -> bool | None:
    """Whether `pid` or a child of it leads the process group in the foreground of its terminal.

    The jobs of a shell are led by grandchildren of its parent. None if the system does not tell."""
    fields = _stat(pid)
    if not fields or int(fields[5]) <= 0:
        return None
    group, front = fields[2], fields[5]
    return group == front or _stat(int(front))[1:2] == [str(pid)]


def edits_lines(pid: int) -> bool:
    """Whether the kernel edits the lines that are typed at the process's terminal (Linux)."""
    import termios

    fields = _stat(pid)
    number = int(fields[4]) if fields else 0
    if not number:
        return False
    try:
        terminal = os.open(f"/dev/pts/{os.minor(number)}", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        same = os.fstat(terminal).st_rdev == number
        return same and bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except (OSError, termios.error):
        return False
    finally:
        os.close(terminal)


def ancestors(pid: int = 0) -> list[int]:
    """The processes above `pid`, or above this one, the nearest first; without /proc, only our parent."""
    if pid:
        found = [int(parent) for parent in _stat(pid)[1:2]]
    else:
        found = [os.getppid()]
    while found and found[-1] > 1 and (fields := _stat(found[-1])):
        found.append(int(fields[1]))
    return found


def session_of(pid: int) -> int | None:
    """The session of a process; 0 if its leader is outside of our namespace, as in a container. None if the
    process is gone or the system does not tell."""
    fields = _stat(pid)
    return int(fields[3]) if fields else None


def command_of(pid: int) -> str:
    """The name of its program; empty if the system does not tell."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def session_members(session: int) -> list[int]:
    """The live processes of a session; without /proc, only its leader."""
    try:
        names = os.listdir("/proc")
    except OSError:
        names = []
    if "self" not in names:
        try:
            return [session] if os.getsid(session) == session else []
        except OSError:
            return []
    members = []
    for name in names:
        if name.isdigit():
            fields = _stat(int(name))
            if fields and fields[0] not in ("Z", "X") and fields[3] == str(session):
                members.append(int(name))
    return members


def signal_all(pids: list[int], *signals: int) -> None:
    for pid in pids:
        for number in signals:
            try:
                os.kill(pid, number)
            except OSError:
                break  # it has ended


def is_running(pid: int) -> bool:
    """Whether there is such a process and it is no zombie."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X")


def end_session(session: int, grace: float = 1.0, spare: int = 0) -> None:
    """End every process of a session but `spare`: with SIGHUP and SIGTERM first, with SIGKILL after `grace`
    seconds.

    The leader must be a live process or a zombie of ours, so that its pid cannot have been reused.
    """

    def others() -> list[int]:
        return [pid for pid in session_members(session) if pid != spare]

    members = others()
    signal_all(members, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
    deadline = time.monotonic() + grace
    while members and time.monotonic() < deadline:
        time.sleep(0.01)
        members = others()
    for _ in range(50):  # a member may fork while it is being killed
        if not members:
            return
        signal_all(members, signal.SIGKILL)
        time.sleep(0.01)
        members = others()


def end_as(status: int) -> int:
    """End this process by the signal that `status` names, if it is negative: a shell then sees what it would
    have seen of the program itself, and ends a loop at Ctrl-C. Otherwise returns the exit status."""
    if status >= 0:
        return status
    import resource

    number = -status
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has dumped its own
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    return shell_status(status)  # no signal that ends a process


def close_inherited() -> None:
    """Close what the starter of this process has left open above standard error. Our own descriptors are told
    from those: Python opens them so that no other program inherits them."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        names = []
    for fd in map(int, names):
        try:
            if fd > 2 and os.get_inheritable(fd):
                os.close(fd)
        except OSError:
            pass  # of the list itself


def shell_status(status: int) -> int:
    """An exit status as a shell gives it: 128 and the number of the signal."""
    return 128 - status if status < 0 else status


def reads_terminal(pid: int) -> bool:
    """Whether the process is in a read of a terminal that nothing is typed at (Linux)."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            if file.read() not in ("wait_woken", "n_tty_read"):
                return False
    except (OSError, ValueError):
        return False
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            descriptor = int(file.read().split()[1], 16)
        return os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("/dev/")
    except PermissionError:
        return True  # only a parent may look: it may also read a socket
    except (OSError, ValueError, IndexError):
        return False


def awaits_input(pid: int) -> bool:
    """Whether the process sleeps until it can read something, a terminal or anything else (Linux)."""
    return _small_file(f"/proc/{pid}/wchan").startswith(_INPUT_WAITS)


def is_busy(pid: int) -> bool:
    """Whether the process does not sleep: it computes, or has ended (Linux)."""
    return sys.platform == "linux" and _small_file(f"/proc/{pid}/wchan") in ("0", "")


def times_run(pid: int) -> str:
    """How often the process has got a processor; two answers are equal if it has not run between them."""
    return _small_file(f"/proc/{pid}/schedstat").rpartition(" ")[2]


def _small_file(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def take_short_turns() -> None:
    """Ask the scheduler for turns of 0.1 ms instead of 3. While other processes compute, this one then runs
    as soon as it is woken (Linux 6.12 and newer). It gets no more time; its children do not inherit it."""
    number = _SCHED_SETATTR.get(os.uname().machine)
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if nice < 0:
        return  # the children would not inherit this either
    import struct

    # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_OTHER, _RESET_ON_FORK, nice, 0, _SHORT_TURN, 0, 0)
    _call_c("syscall", number, 0, attributes, 0)


def signal_at_parents_death(number: int) -> None:
    """Let the kernel send this signal when the parent ends, however it ends (Linux only)."""
    if sys.platform == "linux":
        _call_c("prctl", _PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def use_one_heap() -> None:
    """Let all threads allocate from one heap: the process has little to allocate at the same time, and with a
    heap for each thread 0.4 MB more (glibc)."""
    if sys.platform == "linux":
        try:
            _call_c("mallopt", _M_ARENA_MAX, 1)
        except OSError:
            pass  # another C library


def _call_c(name: str, *arguments: int | bytes) -> None:
    import _ctypes  # `ctypes` itself would cost every start 3 ms more

    _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name), arguments)  # type: ignore[arg-type]
