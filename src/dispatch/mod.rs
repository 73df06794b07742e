//! Tool backends: their channels and tool lists; one attempt of one call in, progress and exactly one outcome out.
