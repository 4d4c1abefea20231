"""The conformance kit's server: the real handler and engine behind what the kit expects of an agent.

`python -m tests.tck [--kit 1.0|0.3] [--port 9999] [--agent dummy|scripted]`, then run the kit of that branch
against it (docs/a2a.md).
"""
