#!/bin/sh
# refused.sh FILE COMPILER ARGUMENT… : FILE must not compile, and its first error line must hold the
# text after "// expect: ". With CONTROL defined the same file must compile, so that it is refused
# for no other reason.
file=$1
shift
expected=$(sed -n 's|^// expect: ||p' "$file")
[ -n "$expected" ] || { echo "$file: no '// expect: ' line"; exit 2; }
if ! "$@" -DCONTROL "$file"; then
    echo "$file: does not compile with CONTROL either"
    exit 1
fi
if output=$("$@" "$file" 2>&1); then
    echo "$file: compiles, but should not"
    exit 1
fi
first=$(printf '%s\n' "$output" | grep -m1 'error:')
case $first in
    *"$expected"*) exit 0 ;;
esac
echo "$file: the first error line should hold: $expected"
echo "but it is: $first"
exit 1
