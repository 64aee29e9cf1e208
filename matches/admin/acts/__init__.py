"""What an operator may do: every act asks, says what it will do, and leaves an audit row."""
