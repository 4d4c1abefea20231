"""The tasks that wait for the agent: each says what it waits for, and fails when it expires."""

from dataclasses import dataclass

from synapse.base.states import SUBMITTED
from synapse.tasks.engine import TaskEngine
from synapse.tasks.expiry import expired
from synapse.tasks.task import Task


@dataclass(eq=False, repr=False)
class WaitingTasks:
    engine: TaskEngine

    def tell(self, why: str, asks: bool) -> float | None:
        """Note what each task waits for, and fail those that have expired. Returns the seconds until the next
        one expires. `why` is what keeps the first from being typed; `asks`: the agent asks something."""
        ahead = int(self.engine.running is not None)
        for place, task in enumerate(self.engine.waiting):
            if place == 0 and why:
                self.engine.store.set_note(task, why)
            elif place:
                self.engine.store.set_note(task, _note(place + ahead, why if asks else ""))
        now = self.engine.store.clock()
        left = {task: task.expires_at - now for task in self.engine.waiting if _may_expire(task)}
        late = [task for task in left if left[task] <= 0]
        for task in late:
            self.engine.fail(task, expired(task))
        return min((seconds for seconds in left.values() if seconds > 0), default=None)


def _may_expire(task: Task) -> bool:
    """A task that the agent has begun does not expire while a further message of it waits."""
    return bool(task.expires_at) and task.state == SUBMITTED


def _note(ahead: int, question: str) -> str:
    count = "1 message is ahead of it" if ahead == 1 else f"{ahead} messages are ahead of it"
    return f"{question}; {count}" if question else count
