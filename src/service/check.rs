//! R1: a request is checked whole, before anything runs.
