# The .zshenv of a directory that stands in for $ZDOTDIR until the user's own files have been read.
if [[ -n $__synapse_theirs ]]; then ZDOTDIR=$__synapse_theirs; else unset ZDOTDIR; fi
[[ -r ${ZDOTDIR-$HOME}/.zshenv ]] && source "${ZDOTDIR-$HOME}/.zshenv"
__synapse_theirs=${ZDOTDIR-}
ZDOTDIR=$__synapse_dir
