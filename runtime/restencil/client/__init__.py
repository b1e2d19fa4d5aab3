"""Who asks: controllers, live reads, paging, managers, requests in flight."""
