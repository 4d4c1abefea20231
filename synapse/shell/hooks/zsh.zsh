# The .zshrc of that directory: the user's own, and then what tells Synapse when a command has ended.
if [[ -n $__synshell_theirs ]]; then ZDOTDIR=$__synshell_theirs; else unset ZDOTDIR; fi
unset __synshell_theirs
[[ -r ${ZDOTDIR-$HOME}/.zshrc ]] && source "${ZDOTDIR-$HOME}/.zshrc"

# An alias is read as if its text had been typed: `eval` would take the number of a job.
__synshell_take() {
  builtin emulate -L zsh +x
  builtin local line
  builtin printf 'T\0' >"$__synshell_dir/facts"
  builtin read -r __synshell_code <"$__synshell_dir/go"
  IFS= builtin read -r -d '' line <"$__synshell_dir/line"
  aliases[__synshell_line]=$line$'\n'
  builtin print -rs -- "$line"
  __synshell_taken=1
  builtin return $__synshell_code
}

# The status, how many jobs there are, the directory. Synapse says when to go on to the prompt.
__synshell_ended() {
  builtin local code=$?
  builtin emulate -L zsh +x
  if [[ -n $__synshell_taken ]]; then
    PROMPT= __synshell_taken=
    builtin return $code
  fi
  PROMPT=$__synshell_mark
  builtin printf 'E%s %s %s\0' $code ${#jobstates} "$PWD" >"$__synshell_dir/facts"
  builtin read -r <"$__synshell_dir/go"
  builtin return $code
}

# Before each prompt, since a command may have changed any of these. The user's own comes first.
(( $+functions[precmd] )) && functions[__synshell_precmd]=$functions[precmd]
precmd() {
  builtin local code=$?
  (( $+functions[__synshell_precmd] )) && __synshell_precmd
  builtin unsetopt zle prompt_sp prompt_cr
  builtin setopt hist_ignore_space aliases
  builtin unset HISTFILE RPROMPT RPS1
  precmd_functions=(${precmd_functions:#__synshell_ended} __synshell_ended)
  builtin return $code
}
unsetopt zle
