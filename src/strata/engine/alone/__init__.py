"""Programs of the engine that are run as files (`strata.host.programs.python_file`): each loads what it uses alone."""
