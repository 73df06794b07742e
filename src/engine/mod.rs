//! The loop that owns all live state: it feeds the core, commits its facts, and only then carries out its wishes.
