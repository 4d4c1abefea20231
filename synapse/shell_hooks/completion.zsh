#compdef synapse synapse-send
_synapse() {
  local line
  local -a found
  for line in "${(@f)$(__SYNAPSE__ completion --words "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] || found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (($#found)); then _describe synapse found; else _files; fi
}
if [[ $funcstack[1] == _synapse ]]; then
  _synapse "$@" # loaded from a directory in $fpath
else
  ((${+functions[compdef]})) || { autoload -Uz compinit && compinit -i; }
  compdef _synapse synapse synapse-send
fi
