//! The one door to GitHub.
