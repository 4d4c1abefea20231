# Without a terminal: one command after the other, in a shell that is bash, zsh or a POSIX sh.
while { IFS=' ' read -r __synapse_code <"$__synapse_dir/go" &&
  __synapse_line=$(command -p cat "$__synapse_dir/line"); } 2>/dev/null; do
  { (exit "$__synapse_code"); } 2>/dev/null
  eval "$__synapse_line"
  { printf 'E%s %s %s\0' "$?" 0 "$PWD" >"$__synapse_dir/facts"; } 2>/dev/null
done
