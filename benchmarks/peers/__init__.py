"""Private Newton against the methods that a user would otherwise take: docs/peers.md."""
