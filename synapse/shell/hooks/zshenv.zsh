# The .zshenv of a directory that stands in for $ZDOTDIR until the user's own files have been read.
if [[ -n $__synshell_theirs ]]; then ZDOTDIR=$__synshell_theirs; else unset ZDOTDIR; fi
[[ -r ${ZDOTDIR-$HOME}/.zshenv ]] && source "${ZDOTDIR-$HOME}/.zshenv"
__synshell_theirs=${ZDOTDIR-}
ZDOTDIR=$__synshell_dir
