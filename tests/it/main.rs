//! The tests that need more than one module, in one binary, so that it is linked once.
mod tidy;
