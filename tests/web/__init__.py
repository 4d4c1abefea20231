"""The page of `synapse view` in a real browser: make test-web."""
