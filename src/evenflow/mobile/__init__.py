"""The mobile edge: clients on mobile nodes, gateways, mailboxes, and who keeps gateways even."""
