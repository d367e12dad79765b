"""Predictions of `strata scale --what-if`, held against changes that are made."""
