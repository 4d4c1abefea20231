# Read by an interactive fish after its own configuration. Commands are taken in a loop, so that fish's editor, which
# cannot be switched off, is never there; Ctrl-C ends the loop, the editor comes, and Synapse is asked to start it again.
set -g __synapse_code 0
set -g fish_history ''

function __synapse_status
    return $argv[1]
end

function __synapse_loop
    while true
        builtin printf '%s' $__synapse_mark >/dev/tty
        builtin printf 'E%s %s %s\0' $__synapse_code (builtin count (builtin jobs -p)) "$PWD" >$__synapse_dir/facts
        builtin read -l code <$__synapse_dir/go
        builtin read -z -g __synapse_line <$__synapse_dir/line
        __synapse_status $code
        eval $__synapse_line
        set -g __synapse_code $status
        emit fish_prompt
    end
end

function fish_prompt
    set -g __synapse_code $status
    builtin printf 'P\0' >$__synapse_dir/facts
    builtin printf '%s' $__synapse_hide
end

function fish_right_prompt
end

function fish_mode_prompt
end

function fish_title
end
