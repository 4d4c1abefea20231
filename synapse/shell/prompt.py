"""The line editor, with prompt_toolkit: history, completion, several lines, output of background jobs."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output

from synapse.peers.base import Listed
from synapse.shell import completion
from synapse.shell.command_readers import IsWhole
from synapse.shell.history import History
from synapse.shell.session import Session


class EditorReader:
    def __init__(
        self,
        session: Session,
        history: History,
        agents: Callable[[], list[Listed]],
        prompt: Callable[[int], str],
        aside: Callable[[int], str],
        is_whole: IsWhole,
    ) -> None:
        self._shell = session
        self._prompt = prompt
        self._aside = aside
        self._background = b""
        output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
        output.enable_cpr = False  # a late answer would go to the next program
        self._editor: PromptSession[str] = PromptSession(
            history=InMemoryHistory(history.entries),
            completer=_Completer(history, agents),
            complete_while_typing=Condition(self._is_for_agent),
            auto_suggest=AutoSuggestFromHistory(),
            enable_history_search=Condition(lambda: not self._is_for_agent()),  # else nothing is completed
            multiline=True,
            prompt_continuation="> ",
            key_bindings=_keys(is_whole),
            output=output,
        )

    def read(self, status: int, typed_ahead: bytes) -> str:
        if typed_ahead:
            self._queue_keys(typed_ahead.decode("utf-8", "surrogateescape"))
        self._to_first_column()
        aside = FormattedText([("fg:ansibrightblack", self._aside(status))])
        try:
            return self._editor.prompt(ANSI(self._prompt(status)), rprompt=aside, pre_run=self._listen)
        finally:
            if self._background:
                self._show(self._background + b"\r\n")
                self._background = b""

    def _queue_keys(self, keys: str) -> None:
        pressed: list[KeyPress] = []
        parser = Vt100Parser(pressed.append)
        parser.feed(keys)
        parser.flush()
        store_typeahead(self._editor.app.input, pressed)

    def _is_for_agent(self) -> bool:
        return self._editor.default_buffer.text.startswith("@")

    def _to_first_column(self) -> None:
        """Go to the next row if a program has not ended its last line: only then a row of spaces wraps."""
        columns = os.get_terminal_size(1).columns
        print(" " * (columns - 1), end="\r", flush=True)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._shell.output, self._show_background)
        loop.add_reader(self._shell.events, self._shell.read_events)

    def _show_background(self) -> None:
        *lines, self._background = (self._background + self._shell.read_output()).split(b"\n")
        if lines:
            data = b"\n".join(lines) + b"\n"
            run_in_terminal(lambda: self._show(data))

    def _show(self, data: bytes) -> None:
        sys.stdout.flush()
        while data:
            data = data[os.write(1, data) :]


class _Completer(Completer):
    def __init__(self, history: History, agents: Callable[[], list[Listed]]) -> None:
        self._history = history
        self._agents = agents

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        if text.startswith("@"):
            asked = complete_event.completion_requested
            choices = completion.for_agent(text, self._agents(), self._history.sent() if asked else ())
        else:
            choices = completion.for_shell(text, os.environ.get("PATH", ""))
        for choice in choices:
            shown = choice.text.rstrip().replace("\n", "⏎")
            yield Completion(choice.text, -choice.replaces, display=shown, display_meta=choice.about)


def _keys(is_whole: IsWhole) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.cursor_position = len(buffer.text)
            buffer.insert_text("\n")

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        """No command runs that could be stopped."""

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
