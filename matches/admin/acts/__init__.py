"""What an operator may do: every act asks, says what it will touch, and leaves an audit row."""
