"""JSON values, text, errors and what else knows nothing of resources."""
