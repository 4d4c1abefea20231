"""The commands of `synapse`, each with one line of help, in the order in which `synapse --help` lists them.

The module of a command is `synapse/cli/<name>.py`, with `_` for `-`. No profile can have one of these names.
"""

COMMANDS = {
    "start": "start an agent in the background",
    "send": "send a message to an agent; with --return wait for its reply",
    "shell": "your own shell, in which @agent lines go to agents",
    "stop": "stop agents and wait until they have ended",
    "list": "list the running agents",
    "status": "show what one agent is doing",
    "why": "explain why an agent counts as ready, busy or waiting",
    "attach": "take over the terminal of a background agent",
    "screen": "print an agent's screen as text",
    "keys": "press keys in an agent's terminal",
    "external": "external agents: add, list, remove, send",
    "logs": "show an agent's output and Synapse's own log of it",
    "tasks": "list the tasks that were sent, with their states",
    "task": "show one task in full",
    "input": "answer a question that an agent asks in a task",
    "cancel": "cancel a task",
    "interrupt": "interrupt what an agent is doing",
    "profiles": "list the agents that can be started, or show one in full",
    "config": "show the settings in force, and where each comes from",
    "record": "record a running agent as a golden case",
    "shell-hook": "send `@agent …` lines from the prompt of your own shell",
    "completion": "completion for bash, zsh and fish",
    "doctor": "check this machine: programs, profiles, files, terminal",
    "demo": "show three reference agents at work",
}
