# The .zshrc of that directory: the user's own, and then what tells Synapse when a command has ended.
if [[ -n $__synapse_theirs ]]; then ZDOTDIR=$__synapse_theirs; else unset ZDOTDIR; fi
unset __synapse_theirs
[[ -r ${ZDOTDIR-$HOME}/.zshrc ]] && source "${ZDOTDIR-$HOME}/.zshrc"

__synapse_take() {
  builtin emulate -L zsh
  builtin printf 'T\0' >"$__synapse_dir/facts"
  builtin read -r __synapse_code <"$__synapse_dir/go"
  IFS= builtin read -r -d '' __synapse_line <"$__synapse_dir/line"
  builtin print -rs -- "$__synapse_line"
  builtin return $__synapse_code
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synapse_ended() {
  builtin local code=$?
  builtin emulate -L zsh
  builtin printf 'E%s %s %s\0' $code ${#jobstates} "$PWD" >"$__synapse_dir/facts"
  builtin read -r <"$__synapse_dir/go"
  builtin return $code
}

# After each command, since it may have changed any of these.
__synapse_hook() {
  builtin local code=$?
  builtin unsetopt zle prompt_sp prompt_cr
  builtin setopt hist_ignore_space
  builtin unset HISTFILE RPROMPT RPS1
  PROMPT=$__synapse_mark
  precmd_functions=(${precmd_functions:#__synapse_ended} __synapse_ended)
  builtin return $code
}
__synapse_hook
