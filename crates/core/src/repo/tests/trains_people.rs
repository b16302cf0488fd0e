//! What people do to pull requests while trains are under way.
