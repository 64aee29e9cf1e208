"""Who may call and how often: API tokens, lock-outs, public reading, calls sent twice."""
