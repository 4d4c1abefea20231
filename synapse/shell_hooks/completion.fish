function __synapse_complete
    set -l word (commandline -ct)
    __SYNAPSE__ completion --words (commandline -opc) "$word" 2>/dev/null
    or __fish_complete_path "$word"
end
complete -c synapse -f -a '(__synapse_complete)'
complete -c synapse-send -f -a '(__synapse_complete)'
