#!/bin/sh
# Does this storage still do what it did? gate.sh WHERE [options of `strata measure`]
#
# The first time it measures a baseline and saves it. After that it measures until the gate can tell, at most $RUNS
# times, and ends with the gate's own exit status: 0 fine, 3 regression, 4 it cannot be told.
#
#   STRATA_STORE   where runs are kept between jobs (SQLite file or postgresql://…; default: this machine's own)
#   BASELINE       its name (main)      BASELINE_RUNS  runs it is made of (5; ten are better)
#   RUNS           of the candidate, at most (6)        MAX_LOSS  that has to be found (10%)
#   NOISE          what equal runs differ by, where that is known (4%; default: learnt from the baseline's runs)
#   OUT            where gate.xml and gate.md go (.)
set -eu
where=${1:?usage: gate.sh WHERE [options of strata measure]}
shift
name=${BASELINE:-main} out=${OUT:-.}

measure() {
    # 4: --until was not reached. The figures are in the store, and the gate says whether they tell.
    strata measure "$where" --progress none "$@" > /dev/null || [ $? -eq 4 ]
}

if ! strata baseline show "$name" > /dev/null 2>&1; then
    for _ in $(seq "${BASELINE_RUNS:-5}"); do measure "$@"; done
    strata baseline save "$name" --last "${BASELINE_RUNS:-5}" --note "made by gate.sh"
    exit 0
fi

code=4
for n in $(seq "${RUNS:-6}"); do
    measure "$@"
    code=0
    strata gate --against "$name" --last "$n" --max-loss "${MAX_LOSS:-10%}" ${NOISE:+--noise "$NOISE"} \
        --junit "$out/gate.xml" --markdown "$out/gate.md" || code=$?
    [ $code -eq 4 ] || break
done
exit $code
