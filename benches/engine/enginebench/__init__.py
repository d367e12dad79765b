"""The benchmark of the load engine beside its peers. `benches/engine/README.md` says what is measured and how."""
