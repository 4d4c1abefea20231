"""What the relay starts: `python -m synapse.host`."""

from synapse.host.host import main

main()
