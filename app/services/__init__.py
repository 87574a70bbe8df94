"""Use cases. They import the domain only; what leaves the process comes in through `ports`."""
