//! Tests of the model, its scores and its redundancy that build clusters from text.
