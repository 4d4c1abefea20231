# Without a terminal: one command after the other, in a shell that is bash, zsh or a POSIX sh.
while { IFS=' ' read -r __synshell_code <"$__synshell_dir/go" &&
  __synshell_line=$(command -p cat "$__synshell_dir/line"); } 2>/dev/null; do
  { (exit "$__synshell_code"); } 2>/dev/null
  eval "$__synshell_line"
  { printf 'E%s %s %s\0' "$?" 0 "$PWD" >"$__synshell_dir/facts"; } 2>/dev/null
done
