"""A rate under growing load: the curve that fits it, where it stops to be worth more load, and what a change would
bring.

* `table`: printed rows that differ in nothing but their load.
* `usl`, `plateau`: the two curves; `fitted` says which of them holds, and refuses both where neither does.
* `knee`: where added load turns into waiting time, and where a doubling gains too little.
* `network`, `whatif`: a closed network of measured demands, and what it predicts of a change.
"""
