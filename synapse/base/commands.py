"""The commands of `synapse`, each with one line of help, in the order in which `synapse --help` lists them.

The module of a command is `synapse/cli/<name>.py`, with `_` for `-`. No profile can have one of these names.
"""

COMMANDS = {
    "start": "start an agent in the background",
    "send": "send a message to an agent; --return waits for its reply",
    "shell": "your own shell, in which @agent lines go to agents",
    "stop": "stop agents and wait until they have ended",
    "restart": "stop an agent and start it again as it was",
    "list": "list the running agents",
    "url": "print the address of an agent",
    "view": "all agents on one page in the browser: answer, send, type",
    "status": "show what one agent is doing",
    "why": "explain why an agent counts as ready, busy or waiting",
    "attach": "take over the terminal of a background agent",
    "screen": "print an agent's screen as text",
    "keys": "press keys in an agent's terminal",
    "external": "external agents: add, list, remove, send",
    "machine": "other machines by SSH: add, list, remove, test; their agents are `agent@machine`",
    "mesh": "machines that share agents through a NATS server: serve, join, invite",
    "logs": "show an agent's output and Synapse's own log of it",
    "tasks": "list the tasks that were sent, with their states",
    "task": "show one task in full",
    "top": "all agents in this terminal: who needs you, who works, who is idle",
    "questions": "list what the agents ask",
    "answer": "answer a question of an agent",
    "input": "answer a question that an agent asks in a task",
    "cancel": "cancel a task",
    "interrupt": "interrupt what an agent is doing",
    "mcp": "serve the agents as tools to an MCP client",
    "run": "execute a script whose steps are tasks, and continue it after a kill",
    "runs": "list, show, cancel and remove runs",
    "review": "one agent reviews a change, another fixes it, until it is approved",
    "council": "several agents answer a question, one joins the answers",
    "worktrees": "list the git worktrees of agents, merge or remove one",
    "profiles": "list the agents that can be started, or show one in full",
    "config": "show the settings and where each comes from, or set one",
    "record": "record a running agent as a golden case",
    "shell-hook": "send `@agent …` lines from the prompt of your own shell",
    "completion": "completion for bash, zsh and fish",
    "doctor": "check this machine: programs, profiles, files, terminal",
    "demo": "show three reference agents at work",
}

# What people type who know other tools, unless a profile has the name.
SYNONYMS = {"ps": "list", "ls": "list", "kill": "stop"}
HINTS = {
    "rm": "agents are not removed but stopped, with `synapse stop NAME`; "
    "`synapse external remove ALIAS` removes an external agent"
}
