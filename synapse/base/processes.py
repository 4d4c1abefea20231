"""Processes that are not children of this one, identified even if a pid is reused."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # `signal` itself would import `enum`: 5 ms of every start


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


def ancestors() -> list[int]:
    """The processes above this one, the nearest first; without /proc, only its parent."""
    found = [os.getppid()]
    while found[-1] > 1 and (fields := _stat(found[-1])):
        found.append(int(fields[1]))
    return found


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


def end_session(session: int, grace: float = 1.0) -> None:
    """End every process of a session: with SIGTERM first, with SIGKILL after `grace` seconds.

    The leader must be a live process or a zombie of ours, so that its pid cannot have been reused.
    """
    members = session_members(session)
    signal_all(members, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
    deadline = time.monotonic() + grace
    while members and time.monotonic() < deadline:
        time.sleep(0.01)
        members = session_members(session)
    for _ in range(50):  # a member may fork while it is being killed
        if not members:
            return
        signal_all(members, signal.SIGKILL)
        time.sleep(0.01)
        members = session_members(session)


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
