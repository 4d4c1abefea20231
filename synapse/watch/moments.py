"""When things last happened, and what is due. All time spans of the observer are here, in seconds."""

from dataclasses import dataclass

SETTLE = 0.15  # without output before the screen is read
LOOK_AT_LEAST = 0.5  # between two looks while output never pauses
POLL_OUTPUT = 0.1  # between two looks at the transcript while there is output
POLL_ENTERED = 0.25  # the same after Enter, until a turn has begun: the screen may be silent by then
POLL_AT_LEAST = 1.0  # the same during a turn
ENTERED = 3.0  # after Enter, in which a turn may have begun that is not reported yet
ECHO = 0.5  # after a key in which output is its echo
LATE_ECHO = 1.0  # the same for text that the composer does not show though there was output since
STOPPED_SETTLE = 0.3  # for which an interrupted turn waits for its reply on the screen
STOPPED_AT_MOST = 1.0  # the same while output never pauses
TURN_SETTLE = 0.15  # of READY before a turn ends whose end was not reported: its transcript lags
TURN_SETTLE_UNSEEN = 1.0  # the same for one that was never seen to be busy: it may not have begun
TAKEN_BACK = 1.0  # the same where the composer has the prompt again: the human has taken it back
UNSHOWN = 30.0  # of silence after which a program waits for input though it does not show that it does
SOONEST = 0.01  # until the next check

LONG_AGO = -1e9


@dataclass
class Moments:
    output: float = LONG_AGO
    change: float = LONG_AGO  # the last output that is no repainting of an idle agent
    look: float = LONG_AGO
    poll: float = LONG_AGO
    key: float = LONG_AGO
    submit: float = LONG_AGO
    asked: float = LONG_AGO  # when a permission prompt was last on the screen
    ready: float = LONG_AGO  # when the status last became READY
    unseen: bool = False  # there is output since the last look
    news: bool = False  # the same, and it is not an echo
    pressed: bool = False  # there is a key since what was last seen in the composer
    echoes: bool = False  # the last key was text, so that output must follow
    entered: bool = False  # Enter was pressed, and there was no output since

    def quiet(self, now: float) -> float:
        return now - self.output

    @property
    def is_seen(self) -> bool:
        """Whether there was neither output nor a key since the last look."""
        return not self.unseen and max(self.key, self.submit) <= self.look

    def is_time_to_look(self, now: float) -> bool:
        return self.unseen and (self.quiet(now) >= SETTLE or now - self.look >= LOOK_AT_LEAST)

    def next_look(self, now: float) -> float:
        return max(min(self.output + SETTLE, self.look + LOOK_AT_LEAST) - now, SOONEST)

    def next_sight(self, now: float) -> float | None:
        """Seconds until the screen is looked at, or what the last key did is taken for nothing."""
        if self.unseen:
            return self.next_look(now)
        is_due = self.pressed and (not self.echoes or self.output >= max(self.key, self.submit))
        return self.next_confirm(now) if is_due else None

    def is_answered(self, now: float, shows_text: bool = True) -> bool:
        """Whether the screen shows what the last key did: its echo has settled, or none came. `shows_text`:
        text is in the composer. If there is none, output after a text may be something else."""
        since = max(self.key, self.submit)
        if not self.pressed:
            return True
        if self.output >= since:
            return shows_text or not self.echoes or now - since >= LATE_ECHO
        return not self.echoes and now - since >= ECHO

    def is_time_to_confirm(self, now: float) -> bool:
        """The last key has changed nothing on the screen."""
        return self.pressed and not self.unseen and self.is_answered(now, shows_text=False)

    def next_confirm(self, now: float) -> float:
        since = max(self.key, self.submit)
        return max(since + (LATE_ECHO if self.echoes else ECHO) - now, SOONEST)

    def is_time_to_poll(self, now: float, busy: bool, entered: bool) -> bool:
        """`entered`: a turn may have begun. A transcript lags behind the screen."""
        output = self.output >= self.poll
        every = POLL_OUTPUT if output else POLL_ENTERED if entered else POLL_AT_LEAST
        return (busy or output or entered) and now - self.poll >= every

    def is_echo(self, now: float) -> bool:
        """Whether output just now is what a human types at an agent that is idle: the first output after
        text, however late it comes, and what follows soon. To be asked before `output` is set."""
        is_late = self.echoes and self.output < self.key
        return not self.entered and (now - self.key < ECHO or is_late)
