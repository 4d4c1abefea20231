# Read by an interactive bash after ~/.bashrc. It tells Synapse when a command has ended, and takes the next one.
[ -r ~/.bashrc ] && . ~/.bashrc

__synapse_take() {
  builtin printf 'T\0' >"$__synapse_dir/facts"
  IFS=' ' builtin read -r __synapse_code <"$__synapse_dir/go" || builtin :
  IFS= builtin read -r -d '' __synapse_line <"$__synapse_dir/line" || builtin :
  if [[ $- == *H* && $__synapse_line == *'!'* && $__synapse_line != *$'\n'* ]]; then
    builtin local said
    if ! said=$(builtin history -p -- "$__synapse_line" 2>&1); then
      builtin printf 'bash: %s\n' "${said##*history: }" >/dev/tty
      __synapse_line='(exit 1)'
    elif [[ $said != "$__synapse_line" ]]; then
      __synapse_line=$said
      builtin printf '%s\n' "$said" >/dev/tty
    fi
  fi
  builtin history -s -- "$__synapse_line"
  [[ $- == *e* ]] || builtin return "$__synapse_code"
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synapse_ended() {
  builtin local code=${__synapse_kept:-$?} count='\j'
  builtin printf 'E%s %s %s\0' "$code" "${count@P}" "$PWD" >"$__synapse_dir/facts"
  builtin read -r <"$__synapse_dir/go"
  builtin return "$code"
}

# After each command, since it may have changed any of these.
__synapse_hook() {
  builtin local code=$?
  builtin set +o emacs +o vi +o history
  builtin unset HISTFILE
  PS1=$__synapse_mark
  builtin declare -g +x PS1 PROMPT_COMMAND
  if [[ "${PROMPT_COMMAND[*]}" != *__synapse_ended* ]]; then
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
      PROMPT_COMMAND+=('{ __synapse_ended; } 2>/dev/null')
    else
      PROMPT_COMMAND="__synapse_kept=\$?${PROMPT_COMMAND:+;$PROMPT_COMMAND};{ __synapse_ended; } 2>/dev/null"
    fi
  fi
  builtin return "$code"
}
__synapse_hook
