from synapse.cli import main

raise SystemExit(main())
