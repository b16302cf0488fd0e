//! What the program tells about itself: logs and metrics.
