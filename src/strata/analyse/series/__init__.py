"""One measurement over its time: where its ramp ends, whether it is steady, how sure its figures are, when it may end.

Each file is one method with its source; `course_of` and `StoppingRule` put them together.
"""
