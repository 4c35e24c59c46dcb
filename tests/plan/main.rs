//! Tests of plans that search for their steps, or build clusters from text.
