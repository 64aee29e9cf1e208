"""When to stop and what to say: questions, sequential tests, forecasts and budgets."""
