"""Whether one number for each agent tells the truth: deviance, cycles and Nash averaging."""
