"""The contract's generated messages and stubs."""
