"""What the user sees: terminal, JSON, Markdown, one-file HTML, and the live display.

Everything here turns a value of the vocabulary into text. Nothing is measured, judged or decided here.
"""
