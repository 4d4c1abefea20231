# Synapse: `@agent message` at the prompt of bash. `__synapse_unhook` takes it away again.
#
# Enter becomes two keys that nobody types: the first looks at the line, the second is what Enter was. A line for an
# agent is put aside, and a command without arguments runs in its place: bash never parses the message.
if [[ ! $- == *i* ]] || ! { [[ -o emacs ]] || [[ -o vi ]]; }; then
  :  # nobody types here
elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  printf 'synapse: the shell hook needs bash 4.4 or newer; this is %s.\n' "$BASH_VERSION" >&2
else
  __synapse_form='^[[:blank:]]*(@[[:alnum:]_-]+(@[[:alnum:]_.-]+)?)[[:space:]]+[^[:space:]]'

  # Before each first prompt: what is typed next begins a command. (The lines after it, and `read -e`, do not.)
  __synapse_fresh() {
    local status=$?
    __synapse_at_prompt=yes
    [[ -z ${__synapse_hidden-} ]] || __synapse_show
    return "$status"
  }

  __synapse_enter() {
    local status=$? fresh=${__synapse_at_prompt-} prompt=
    __synapse_at_prompt=
    if [[ "${PROMPT_COMMAND[*]-}" != *__synapse_fresh* ]]; then
      __synapse_listen  # somebody has set it anew
      fresh=yes
    fi
    [[ -n $fresh && $READLINE_LINE =~ $__synapse_form ]] || return 0
    ! type -t -- "${BASH_REMATCH[1]}" >/dev/null || return 0
    __synapse_status "$status" && prompt=${PS1@P} || prompt=${PS1@P}
    prompt=${prompt##*$'\n'}
    __synapse_prompt=${prompt//[$'\001\002']/}
    __synapse_line=$READLINE_LINE
    __synapse_hide
    READLINE_LINE=' __synapse'
    READLINE_POINT=${#READLINE_LINE}
    return 0
  }

  __synapse_status() { return "$1"; }

  # The history gets the line as it was typed, and not the command that stands for it.
  __synapse_hide() {
    local joined=
    if [[ -o history ]]; then
      [[ ! $BASHOPTS == *cmdhist* ]] || joined=yes
      shopt -u cmdhist  # else `history -s` would take an unfinished command away
      history -s -- "$__synapse_line"
      [[ -z $joined ]] || shopt -s cmdhist
    fi
    __synapse_hidden=${HISTCONTROL+was set} __synapse_histcontrol=${HISTCONTROL-}
    __synapse_hidden=${__synapse_hidden:-was not}
    HISTCONTROL=ignorespace
  }

  __synapse_show() {
    if [[ $__synapse_hidden == 'was set' ]]; then HISTCONTROL=$__synapse_histcontrol; else unset HISTCONTROL; fi
    __synapse_hidden=
  }

  __synapse() {
    local line=${__synapse_line-}
    [[ -n $line ]] || return 0
    __synapse_line=
    [[ -z $__synapse_hidden ]] || __synapse_show
    [[ ${TERM:-dumb} == dumb ]] || printf '\e[A\r\e[J%s%s\n' "$__synapse_prompt" "$line" >&2
    printf %s "$line" | __SYNAPSE__ send --line
  }

  __synapse_listen() { PROMPT_COMMAND=__synapse_fresh${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}; }

  __synapse_hook() {
    local map key was
    for map in emacs-standard vi-insert vi-command; do
      bind -m "$map" -x '"\e[5557~": __synapse_enter'
      for key in m j; do
        was=$'\n'$(bind -m "$map" -p; bind -m "$map" -s; bind -m "$map" -X)$'\n'
        [[ $was == *$'\n"\\C-'$key'": '* ]] || continue
        was=${was#*$'\n"\\C-'$key'": '}
        was=${was%%$'\n'*}
        [[ $was != *'\e[5557~'* ]] || continue  # it is there already
        if [[ $was == '"'* && $(bind -m "$map" -X) == *$'"\\C-'$key'": '* ]]; then
          bind -m "$map" -x '"\e[5558~'$key'": '"$was"
        else
          bind -m "$map" '"\e[5558~'$key'": '"$was"
        fi
        __synapse_was+=("$map" "$key" "$was")
        bind -m "$map" '"\C-'$key'": "\e[5557~\e[5558~'$key'"'
      done
    done
    [[ "${PROMPT_COMMAND[*]-}" == *__synapse_fresh* ]] || __synapse_listen
  }

  __synapse_unhook() {
    local i
    for ((i = 0; i < ${#__synapse_was[@]}; i += 3)); do
      bind -m "${__synapse_was[i]}" '"\C-'"${__synapse_was[i + 1]}"'": '"${__synapse_was[i + 2]}"
    done
    __synapse_was=()
    PROMPT_COMMAND=${PROMPT_COMMAND/__synapse_fresh/}
    PROMPT_COMMAND=${PROMPT_COMMAND#$'\n'}
  }

  __synapse_hook
fi
