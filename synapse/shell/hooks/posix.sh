# The file that $ENV names for sh, dash, ash and ksh: the user's own, and then what tells Synapse when a command
# has ended. The prompt is the only hook that they have.
if [ -n "$__synshell_theirs" ]; then ENV=$__synshell_theirs; else unset ENV; fi
unset __synshell_theirs
if [ -n "${ENV-}" ] && [ -r "$ENV" ]; then . "$ENV"; fi

__synshell_take() {
  printf 'T\0' >"$__synshell_dir/facts"
  IFS=' ' read -r __synshell_code <"$__synshell_dir/go"
  __synshell_line=$(command -p cat "$__synshell_dir/line")
  return "$__synshell_code"
}

# How many jobs there are. Not in a substitution: that is a subshell, which has none.
__synshell_count() {
  __synshell_jobs=0
  command jobs -p >|"$__synshell_dir/jobs" || return 0
  while IFS=' ' read -r __synshell_line; do
    if kill -0 "$__synshell_line" || kill -0 "-$__synshell_line"; then __synshell_jobs=$((__synshell_jobs + 1)); fi
  done <"$__synshell_dir/jobs"
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synshell_ended() {
  printf 'E%s %s %s\0' "$1" "$__synshell_jobs" "$PWD" >"$__synshell_dir/facts"
  read -r __synshell_code <"$__synshell_dir/go"
}

# After each command, since it may have changed any of these.
__synshell_hook() {
  __synshell_code=$?
  for __synshell_line in emacs vi; do
    (set +o "$__synshell_line") 2>/dev/null && set +o "$__synshell_line"
  done
  __synshell_count
  PS1='$({ __synshell_ended "$?"; } 2>/dev/null)'$__synshell_mark
  return "$__synshell_code"
}
__synshell_hook
