"""The steps of the demo: a message at another agent's prompt, a question, an interrupt, A2A with `curl`."""

import json
import shlex
import shutil
import subprocess
import urllib.request
from typing import Any

from synapse.base import paths
from synapse.demo.stage import Stage
from synapse.errors import SynapseError

READING = 4.0  # seconds to read a step, on a terminal
OPEN_PANEL = "\x1do"  # C-] o


class Play:
    """Checks every step; a step that fails ends the demo with an error."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self._stage: Stage

    def run(self) -> None:
        try:
            self._run()
        finally:
            self.synapse("stop", "--all", check=False)

    def _run(self) -> None:
        print("Two agents start in the background, a third in front …", flush=True)
        for name in ("b", "c"):
            self.synapse("start", "dummy", "--name", name, "--", "--tui")
        front = [*paths.our_python(), "-m", "synapse", "dummy", "--name", "a", "--", "--tui"]
        self._stage = Stage(front, self._env)
        steps = [self._front, self._ask_another, self._question, self._from_a_shell]
        steps += [self._interrupt, self._standard, self._who_runs]
        try:
            for number, step in enumerate(steps, 1):
                self._number = f"{number}/{len(steps)}"
                step(self._stage)
                self._stage.linger(READING)
        finally:
            self._stage.close()

    def _front(self, stage: Stage) -> None:
        self._title("An agent in its own terminal, as it always was", "synapse dummy --name a -- --tui")
        stage.until_shown("? for shortcuts")
        stage.linger(1.5)
        stage.enter("hello")
        stage.until_shown("You said: hello")
        stage.show()
        stage.until(lambda: self._agent("a")["status"] == "READY", "a did not become READY again")

    def _ask_another(self, stage: Stage) -> None:
        message = "@b markdown"
        self._title("At its prompt, write to another agent: the reply comes over the screen", message)
        before = stage.text
        stage.until(lambda: "b" in self._agents(), "b was not there")
        stage.rest(1.0)  # the relay learns the names of agents twice a second
        stage.enter(message)
        stage.until_shown("← b: replied")
        self._expect("@b" not in stage.text, "the line was left at the prompt")
        stage.show()
        stage.linger(2.5)
        self._title("Two keys open the reply: read, scroll, copy it, or hand it to this agent", "C-] o")
        stage.press(OPEN_PANEL)
        stage.until_shown("b · replied")
        stage.show()
        stage.linger(READING)
        stage.press("q")
        stage.until(lambda: stage.text == before, "something was left on the screen")

    def _question(self, stage: Stage) -> None:
        message = "@c confirm Delete the build directory?"
        how = message + "   then C-] o  a  y  Enter"
        self._title("The other agent asks something: answer from here", how)
        stage.enter(message)
        stage.until_shown("? c: asks")
        stage.linger(1.5)
        stage.press(OPEN_PANEL)
        stage.until_shown("c · asks")
        stage.linger(1.5)
        stage.press("a", "y")
        stage.until_shown("answer › y")
        stage.show()
        stage.press("\r")
        stage.until_shown("Confirmed.")
        stage.linger(2.0)
        stage.press("q")

    def _from_a_shell(self, stage: Stage) -> None:
        command = ("send", "b", "--return", "say the answer is 42")
        self._title("From any shell, script or agent", _shown("synapse", *command))
        said = self.synapse(*command)
        self._expect(said == "the answer is 42\n", "b did not say what it was asked to")
        stage.print(said)

    def _interrupt(self, stage: Stage) -> None:
        command = ("send", "b", "--priority", "5", "--return", "say I have dropped it")
        self._title("Priority 5 interrupts what an agent is doing", _shown("synapse", *command))
        task = self.synapse("send", "b", "honour 60").split()[1]
        stage.until(lambda: self._state(task) == "working", "b did not begin")
        stage.linger(1.5)
        said = self.synapse(*command)
        self._expect(said == "I have dropped it\n", "the urgent message was not answered")
        stage.until(lambda: self._state(task) == "canceled", "what b was doing was not interrupted")
        stage.print(f"{said}`synapse task {task}` says of what it was doing: canceled")

    def _standard(self, stage: Stage) -> None:
        url = f"{self._agent('b')['endpoint']}/"
        message = {"messageId": "demo-1", "role": "ROLE_USER", "parts": [{"text": "say hello, standard"}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        given = [word for key, value in headers.items() for word in ("-H", f"{key}: {value}")]
        curl = ["curl", "-s", url, *given, "-d", json.dumps(body)]
        self._title("Every agent is an A2A server: any client of the standard works", _shown(*curl))
        found = _post(url, json.dumps(body), headers, curl)["result"]["task"]
        text = found["artifacts"][0]["parts"][0]["text"]
        self._expect(text == "hello, standard", f"the answer was {text!r}")
        stage.print(f"{found['status']['state']}: {text}")

    def _who_runs(self, stage: Stage) -> None:
        self._title("Who is running, and what they are doing", "synapse list")
        table = self.synapse("list")
        self._expect(table.count("dummy") >= 3, "three agents should be listed")
        stage.print(table)

    def _title(self, text: str, how: str) -> None:
        prompt = "$" if how.startswith(("synapse", "curl")) else "❯"
        self._stage.caption(f"{self._number}  {text}", f"{prompt} {how}")

    def synapse(self, *words: str, check: bool = True) -> str:
        command = [*paths.our_python(), "-m", "synapse", *words]
        done = subprocess.run(
            command, env=self._env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise SynapseError(f"the demo failed: `{_shown('synapse', *words)}` said: {said}")
        return done.stdout

    def _agents(self) -> dict[str, Any]:
        return {str(entry["name"]): entry for entry in json.loads(self.synapse("list", "--json"))}

    def _agent(self, name: str) -> Any:
        return self._agents()[name]

    def _state(self, task: str) -> str:
        return str(json.loads(self.synapse("task", task, "--json"))["state"])

    def _expect(self, fact: bool, complaint: str) -> None:
        if not fact:
            raise SynapseError(f"the demo failed: {complaint}.")


def play(env: dict[str, str]) -> None:
    Play(env).run()


def _post(url: str, body: str, headers: dict[str, str], curl: list[str]) -> Any:
    if shutil.which("curl"):
        done = subprocess.run([*curl, "--noproxy", "*"], capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, body.encode(), headers), timeout=60) as response:
        return json.loads(response.read())


def _shown(*words: str) -> str:
    return " ".join(f'"{word}"' if " " in word and '"' not in word else shlex.quote(word) for word in words)
