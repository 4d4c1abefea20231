# Synapse: `@agent message` at the prompt of fish. `__synapse_unhook` takes it away again.
#
# Enter puts a line for an agent aside and runs a command without arguments in its place: fish never parses the
# message. Every other line goes on as it did before.
if status is-interactive
    function __synapse_enter
        set -l code $status
        set -l line (commandline | string collect)
        if not commandline --paging-mode
            and string match -qr '(*UCP)^[ \t]*@[\w-]+(@[\w.-]+)?\s+\S' -- $line
            and not type -q -- (string match -r '(*UCP)@[\w-]+(?:@[\w.-]+)?' -- $line)
            set -g __synapse_line $line
            set -g __synapse_prompt (__synapse_prompt $code)[-1]
            commandline -r ' __synapse'
            commandline -f execute
            return
        end
        for action in $argv
            if contains -- $action (bind --function-names)
                commandline -f $action
            else
                eval $action # of the user's own binding
            end
        end
    end

    function __synapse_prompt -a code
        functions -q fish_mode_prompt; and fish_mode_prompt
        __synapse_status $code
        fish_prompt
    end

    function __synapse_status -a code
        return $code
    end

    function __synapse
        set -q __synapse_line[1]; or return 0
        set -l line $__synapse_line
        set -e __synapse_line
        test "$TERM" = dumb; or printf '\e[A\r\e[J%s%s\n' $__synapse_prompt $line
        __synapse_remember $line
        printf %s $line | __SYNAPSE__ send --line
        set -l code $status
        builtin history delete --exact --case-sensitive -- ' __synapse'
        return $code
    end

    # Only fish 4 has a command for this; before, its history file is written to, as another fish would. (It takes
    # in what others write once a second at the most.)
    function __synapse_remember -a line
        set -q fish_history; or set -l fish_history fish
        if test -n "$fish_private_mode"; or test -z "$fish_history"; or string match -qr '^[ \t]' -- $line
            return
        end
        if string match -qr '^([4-9]|\d\d)' -- $version
            builtin history append -- $line
            return
        end
        set -q XDG_DATA_HOME[1]; or set -l XDG_DATA_HOME ~/.local/share
        set -l written (string replace -a \\ \\\\ -- $line | string split \n | string join '\n')
        echo -- "- cmd: $written"\n"  when: "(date +%s) >>$XDG_DATA_HOME/fish/{$fish_history}_history
        builtin history merge
    end

    function __synapse_unhook
        for mode in default insert
            for key in \r \n
                if bind -M $mode --user $key 2>/dev/null | string match -q '*__synapse_enter*'
                    bind -M $mode --user --erase $key
                end
            end
        end
    end

    for mode in default insert
        for key in \r \n
            set -l own (bind -M $mode --user $key 2>/dev/null)
            string match -q '*__synapse_enter*' -- $own; and continue
            set -l actions execute
            if set -q own[1]
                set actions (string replace -r '^bind( -\S+( (insert|default))?)* \\\\[rncj]+ ' '' -- $own[-1])
            end
            bind -M $mode $key "__synapse_enter "(string escape -- $actions | string join ' ')
        end
    end
end
