# Read by an interactive bash after ~/.bashrc. It tells Synapse when a command has ended, and takes the next one.
[ -r ~/.bashrc ] && . ~/.bashrc

__synshell_take() {
  builtin printf 'T\0' >"$__synshell_dir/facts"
  IFS=' ' builtin read -r __synshell_code <"$__synshell_dir/go" || builtin :
  IFS= builtin read -r -d '' __synshell_line <"$__synshell_dir/line" || builtin :
  if [[ $- == *H* && $__synshell_line == *'!'* && $__synshell_line != *$'\n'* ]]; then
    builtin local said
    if ! said=$(builtin history -p -- "$__synshell_line" 2>&1); then
      builtin printf 'bash: %s\n' "${said##*history: }" >/dev/tty
      __synshell_line='(exit 1)'
    elif [[ $said != "$__synshell_line" ]]; then
      __synshell_line=$said
      builtin printf '%s\n' "$said" >/dev/tty
    fi
  fi
  builtin history -s -- "$__synshell_line"
  [[ $- == *e* ]] || builtin return "$__synshell_code"
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synshell_ended() {
  builtin local code=${__synshell_kept:-$?} count='\j'
  builtin printf 'E%s %s %s\0' "$code" "${count@P}" "$PWD" >"$__synshell_dir/facts"
  builtin read -r <"$__synshell_dir/go"
  builtin return "$code"
}

# After each command, since it may have changed any of these.
__synshell_hook() {
  builtin local code=$?
  builtin set +o emacs +o vi +o history
  builtin unset HISTFILE
  PS1=$__synshell_mark
  builtin declare -g +x PS1 PROMPT_COMMAND
  if [[ "${PROMPT_COMMAND[*]}" != *__synshell_ended* ]]; then
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
      PROMPT_COMMAND+=('{ __synshell_ended; } 2>/dev/null')
    else
      PROMPT_COMMAND="__synshell_kept=\$?${PROMPT_COMMAND:+;$PROMPT_COMMAND};{ __synshell_ended; } 2>/dev/null"
    fi
  fi
  builtin return "$code"
}
__synshell_hook
