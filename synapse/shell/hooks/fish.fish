# Read by an interactive fish after its own configuration. Commands are taken in a loop, so that fish's editor, which
# cannot be switched off, is never there; Ctrl-C ends the loop, the editor comes, and Synapse is asked to start it again.
set -g __synshell_code 0
set -g fish_history ''

function __synshell_status
    return $argv[1]
end

function __synshell_loop
    while true
        builtin printf '%s' $__synshell_mark >/dev/tty
        builtin printf 'E%s %s %s\0' $__synshell_code (builtin count (builtin jobs -p)) "$PWD" >$__synshell_dir/facts
        builtin read -l code <$__synshell_dir/go
        builtin read -z -g __synshell_line <$__synshell_dir/line
        __synshell_status $code
        eval $__synshell_line
        set -g __synshell_code $status
        emit fish_prompt
    end
end

function fish_prompt
    set -g __synshell_code $status
    builtin printf 'P\0' >$__synshell_dir/facts
    builtin printf '%s' $__synshell_hide
end

function fish_right_prompt
end

function fish_mode_prompt
end

function fish_title
end
