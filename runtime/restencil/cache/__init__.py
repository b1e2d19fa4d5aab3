"""What is known: pure, without HTTP and without endpoints."""
