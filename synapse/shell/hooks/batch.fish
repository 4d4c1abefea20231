# Without a terminal: one command after the other.
function __synshell_status
    return $argv[1]
end

while read -l __synshell_code <$__synshell_dir/go
    read -z -l __synshell_line <$__synshell_dir/line
    __synshell_status $__synshell_code
    eval $__synshell_line
    printf 'E%s %s %s\0' $status 0 "$PWD" >$__synshell_dir/facts
end
