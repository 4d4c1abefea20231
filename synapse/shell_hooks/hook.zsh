# Synapse: `@agent message` at the prompt of zsh. `__synapse_unhook` takes it away again.
#
# The widget that accepts a line puts a line for an agent aside and accepts a command without arguments in its place:
# zsh never parses the message. Every other line goes to the widget that was there before.
if [[ -o interactive && -o zle ]]; then
  __synapse_is_line() {
    emulate -L zsh -o extended_glob
    [[ $CONTEXT == start && $BUFFER == [[:blank:]]#@[[:alnum:]_-]##(|@[[:alnum:]_.-]##)[[:space:]]##[^[:space:]]* ]] || return 1
    local word=${${BUFFER##[[:blank:]]#}%%[[:space:]]*}
    ! whence -- $word >/dev/null
  }

  __synapse_accept_line() {
    if __synapse_is_line; then
      typeset -g __synapse_line=$BUFFER
      PREDISPLAY=$BUFFER$'\n'  # shown above the command, which is wiped when it runs
      POSTDISPLAY=
      BUFFER=' __synapse'
      CURSOR=$#BUFFER
    fi
    zle __synapse_accept_line_before -- "$@"
  }

  __synapse() {
    emulate -L zsh
    local line=$__synapse_line
    [[ -n $line ]] || return 0
    __synapse_line=
    [[ ${TERM:-dumb} == dumb ]] || print -rn -- $'\e[A\r\e[J' >&2
    __synapse_remember $line
    print -rn -- $line | __SYNAPSE__ send --line
  }

  # As zsh would remember it, which `print -s` alone does not: the options of the user count.
  __synapse_remember() {
    if [[ $__synapse_ignores == *space* && $1 == [[:blank:]]* ]] ||
      [[ $__synapse_ignores == *dups* && $1 == $__synapse_last ]]; then
      return 0
    fi
    print -sr -- $1
  }

  # The command itself is not remembered.
  __synapse_addhistory() {
    [[ $1 == ' __synapse'$'\n' ]] || return 0
    typeset -g __synapse_ignores= __synapse_last=${history[$HISTCMD]-}
    [[ ! -o hist_ignore_space ]] || __synapse_ignores+=space
    [[ ! -o hist_ignore_dups && ! -o hist_ignore_all_dups ]] || __synapse_ignores+=dups
    return 1
  }

  __synapse_unhook() {
    [[ -n ${widgets[__synapse_accept_line_before]-} ]] || return 0
    zle -A __synapse_accept_line_before accept-line
    zle -D __synapse_accept_line_before
    zshaddhistory_functions=(${zshaddhistory_functions:#__synapse_addhistory})
  }

  if [[ -z ${widgets[__synapse_accept_line_before]-} ]]; then
    zle -A accept-line __synapse_accept_line_before
    zle -N accept-line __synapse_accept_line
  fi
  typeset -ga zshaddhistory_functions
  ((${zshaddhistory_functions[(Ie)__synapse_addhistory]})) || zshaddhistory_functions+=(__synapse_addhistory)
fi
