"""The client: controllers, live reads, pagination, managers, requests in flight."""
