# Without a terminal: one command after the other.
function __synapse_status
    return $argv[1]
end

while read -l __synapse_code <$__synapse_dir/go
    read -z -l __synapse_line <$__synapse_dir/line
    __synapse_status $__synapse_code
    eval $__synapse_line
    printf 'E%s %s %s\0' $status 0 "$PWD" >$__synapse_dir/facts
end
