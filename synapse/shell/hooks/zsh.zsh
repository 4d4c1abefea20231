# The .zshrc of that directory: the user's own, and then what tells Synapse when a command has ended.
if [[ -n $__synapse_theirs ]]; then ZDOTDIR=$__synapse_theirs; else unset ZDOTDIR; fi
unset __synapse_theirs
[[ -r ${ZDOTDIR-$HOME}/.zshrc ]] && source "${ZDOTDIR-$HOME}/.zshrc"

# An alias is read as if its text had been typed: `eval` would take the number of a job.
__synapse_take() {
  builtin emulate -L zsh +x
  builtin local line
  builtin printf 'T\0' >"$__synapse_dir/facts"
  builtin read -r __synapse_code <"$__synapse_dir/go"
  IFS= builtin read -r -d '' line <"$__synapse_dir/line"
  aliases[__synapse_line]=$line$'\n'
  builtin print -rs -- "$line"
  __synapse_taken=1
  builtin return $__synapse_code
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synapse_ended() {
  builtin local code=$?
  builtin emulate -L zsh +x
  if [[ -n $__synapse_taken ]]; then
    PROMPT= __synapse_taken=
    builtin return $code
  fi
  PROMPT=$__synapse_mark
  builtin printf 'E%s %s %s\0' $code ${#jobstates} "$PWD" >"$__synapse_dir/facts"
  builtin read -r <"$__synapse_dir/go"
  builtin return $code
}

# Before each prompt, since a command may have changed any of these. The user's own comes first.
(( $+functions[precmd] )) && functions[__synapse_precmd]=$functions[precmd]
precmd() {
  builtin local code=$?
  (( $+functions[__synapse_precmd] )) && __synapse_precmd
  builtin unsetopt zle prompt_sp prompt_cr
  builtin setopt hist_ignore_space aliases
  builtin unset HISTFILE RPROMPT RPS1
  precmd_functions=(${precmd_functions:#__synapse_ended} __synapse_ended)
  builtin return $code
}
unsetopt zle
