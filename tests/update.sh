#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes anew what tests hold to be exact: ops/known.txt, ops/untested_kernels.txt, the golden texts.
#   tests/update.sh BUILD/compiler/inlay         look at the difference before you commit it
set -eu
inlay=$(realpath "$1")
cd "$(dirname "$0")"
export PYTHONPATH=support:ops PYTHONDONTWRITEBYTECODE=1
data=/usr/share/libonnx-testdata/data
beside=../../shared
list()
{
    prefix=$1
    shift
    [ -e "$1" ] || { echo "$prefix: not on this machine, its rows stay"; return 0; }
    echo "$prefix: $(python3 ops/run.py --inlay "$inlay" --known ops/known.txt --prefix "$prefix/" --update "$@")"
}
list node $data/node
list simple $data/simple $data/pytorch-converted $data/pytorch-operator
list newer $beside/onnx-node-tests/onnx-node-tests.tar.gz
list corpus $beside/corpus
python3 ops/kernels.py --inlay "$inlay" --root .. --update $data $beside/onnx-node-tests/onnx-node-tests.tar.gz $beside/corpus
python3 e2e/explain.py --inlay "$inlay" --models ../models --page ../docs/TROUBLESHOOTING.md --update >/dev/null && echo "messages written"
python3 golden/run.py --inlay "$inlay" --models ../models --update >/dev/null && echo "golden texts written"
